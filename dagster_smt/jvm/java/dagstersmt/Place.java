package dagstersmt;

/**
 * A match of a path: a position in an object or array, and the place of that object or array, which is null for the
 * top.
 */
final class Place {
  final Members container;
  final int position;
  final Place above;

  Place(Members container, int position, Place above) {
    this.container = container;
    this.position = position;
    this.above = above;
  }

  boolean isSame(Place other) {
    return container == other.container && position == other.position;
  }
}
