package dagstersmt;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Finds all matches of several paths, in the order in which they can be changed or dropped. */
final class Places {
  /** A match, and the number of its path. */
  static final class Numbered {
    final int number;
    final Place place;

    Numbered(int number, Place place) {
      this.number = number;
      this.place = place;
    }
  }

  private Places() {}

  /**
   * Returns the matches of the paths. Inner values come before outer values, and later elements of an array before
   * earlier ones.
   *
   * @param once true if only the last path applies when several paths match the same position
   */
  static List<Numbered> of(List<Path> paths, Members top, boolean once) {
    List<Numbered> all = new ArrayList<>();
    for (int number = 0; number < paths.size(); number++) {
      List<Place> places = new ArrayList<>();
      paths.get(number).find(top, places);
      for (Place place : places) {
        add(all, new Numbered(number, place), once);
      }
    }
    all.sort(Comparator.comparingInt((Numbered each) -> -each.place.container.depth())
        .thenComparingInt(each -> each.place.container.isObject() ? 0 : -each.place.position));
    return all;
  }

  private static void add(List<Numbered> all, Numbered one, boolean once) {
    for (int i = 0; i < all.size(); i++) {
      Numbered other = all.get(i);
      // a path with ** can lead to the same place in several ways
      if (other.place.isSame(one.place) && (once || other.number == one.number)) {
        all.set(i, one);
        return;
      }
    }
    all.add(one);
  }
}
