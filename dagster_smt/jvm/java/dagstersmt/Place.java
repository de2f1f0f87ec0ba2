package dagstersmt;

/** What a path leads to: a position in an object or array; and the place of that one, null for the top. */
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
