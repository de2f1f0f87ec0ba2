package dagstersmt;

import java.util.Arrays;

/**
 * A table with the positions of members, by the hashes of their names. The table contains the first positions of an
 * object, or is empty.
 */
final class NameTable {
  /** The positions plus one. At least three quarters of the slots are empty. */
  private int[] slots = {};

  private int entered;

  NameTable copy() {
    NameTable copy = new NameTable();
    copy.slots = slots.clone();
    copy.entered = entered;
    return copy;
  }

  /** Returns the number of positions in the table. */
  int size() {
    return entered;
  }

  /** Removes all positions. */
  void clear() {
    entered = 0;
  }

  /** Sets the number of positions to one that the table had before it was cleared. */
  void restore(int positions) {
    entered = positions;
  }

  /** Adds the positions from {@link #size} up to, but not including, {@code positions}. */
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

  /**
   * Removes all positions from {@code first} onwards. They were added last, so no slot of an earlier position depends
   * on them.
   */
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

  /**
   * Returns the first slot for a hash. All slots from this one up to the first empty slot may contain positions for the
   * hash.
   */
  int slot(int hash) {
    // the length is a power of two, so the mask replaces a division
    return hash & slots.length - 1;
  }

  int next(int slot) {
    return slot + 1 & slots.length - 1;
  }

  /** Returns the position in a slot; -1 if the slot is empty. */
  int position(int slot) {
    return slots[slot] - 1;
  }
}
