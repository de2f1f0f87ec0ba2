package dagstersmt;

import java.util.Arrays;

/** The positions of members by the hashes of their names. It has the first positions of an object, or none. */
final class NameTable {
  /** Positions, plus one; at least three quarters of it are empty. */
  private int[] slots = {};

  private int entered;

  NameTable copy() {
    NameTable copy = new NameTable();
    copy.slots = slots.clone();
    copy.entered = entered;
    return copy;
  }

  /** How many positions it has. */
  int size() {
    return entered;
  }

  /** Forgets all positions. */
  void clear() {
    entered = 0;
  }

  /** Has so many positions again, which it had before it was cleared. */
  void restore(int positions) {
    entered = positions;
  }

  /** Enters the positions from {@link #size} on. */
  void enter(int[] hashes, int positions) {
    if (4 * positions > slots.length) {
      slots = new int[2 * Integer.highestOneBit(4 * positions)];
      entered = 0;
    } else if (entered == 0) {
      Arrays.fill(slots, 0);
    }
    while (entered < positions) {
      int slot = slot(hashes[entered]);
      while (slots[slot] != 0) {
        slot = next(slot);
      }
      entered++;
      slots[slot] = entered;
    }
  }

  /** Takes out the positions from one on: those that were entered last, so that no other one is behind them. */
  void leave(int[] hashes, int first) {
    while (entered > first) {
      int slot = slot(hashes[entered - 1]);
      while (slots[slot] != entered) {
        slot = next(slot);
      }
      slots[slot] = 0;
      entered--;
    }
  }

  /** The slot where a hash would be; those after it belong to it, too, up to the first empty one. */
  int slot(int hash) {
    return hash & slots.length - 1;
  }

  int next(int slot) {
    return slot + 1 & slots.length - 1;
  }

  /** The position in a slot, -1 for an empty one. */
  int position(int slot) {
    return slots[slot] - 1;
  }
}
