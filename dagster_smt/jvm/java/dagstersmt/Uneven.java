package dagstersmt;

/**
 * Thrown for a text that one walk for several effects cannot process exactly, such as a text with blanks or with a name
 * twice. The effects then run one after the other.
 */
final class Uneven extends RuntimeException {
  static final Uneven UNEVEN = new Uneven();
  private static final long serialVersionUID = 1L;

  private Uneven() {
    super(null, null, false, false);
  }
}
