package dagstersmt;

/**
 * Thrown for a text that a single walk for several effects cannot process exactly, such as a text with whitespace or
 * with a repeated name. The effects then run one after the other.
 */
final class Uneven extends RuntimeException {
  static final Uneven UNEVEN = new Uneven();
  private static final long serialVersionUID = 1L;

  private Uneven() {
    super(null, null, false, false);
  }
}
