package dagstersmt;

/** A text has blanks, a name twice, or else what one walk for several effects does not do exactly: they act in turn. */
final class Uneven extends RuntimeException {
  static final Uneven UNEVEN = new Uneven();
  private static final long serialVersionUID = 1L;

  private Uneven() {
    super(null, null, false, false);
  }
}
