package dagstersmt;

/**
 * A match of a path. It consists of a position in an object or array, and of the match that contains this object or
 * array. The latter is null for the top.
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
