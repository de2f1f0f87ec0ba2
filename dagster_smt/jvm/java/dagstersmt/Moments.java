package dagstersmt;

import java.time.LocalDate;

/** Reads dates, times and timestamps as databases write them, in UTC: {@code 2020-01-31 12:00:00.123}. */
enum Moments {
  DATE {
    @Override
    long read(byte[] text, int start, int end) {
      if (end - start != DAY_LENGTH) {
        throw Left.LEFT;
      }
      return day(text, start);
    }
  },
  TIME {
    @Override
    long read(byte[] text, int start, int end) {
      return millis(text, start, end);
    }
  },
  TIMESTAMP {
    @Override
    long read(byte[] text, int start, int end) {
      int clock = start + DAY_LENGTH + 1;
      if (end < clock || text[clock - 1] != ' ' && text[clock - 1] != 'T') {
        throw Left.LEFT;
      }
      int clockEnd = text[end - 1] == 'Z' ? end - 1 : end;
      return day(text, start) * DAY + millis(text, clock, clockEnd);
    }
  };

  private static final int DAY_LENGTH = "2020-01-31".length();
  private static final int CLOCK_LENGTH = "12:00:00".length();
  private static final long DAY = 86_400_000;

  /**
   * Returns the number that Connect uses for the text between two positions.
   *
   * @throws Left the text has a different form, or is not a valid date or time
   */
  abstract long read(byte[] text, int start, int end);

  /** Returns the number of the day with which a text begins. */
  private static long day(byte[] text, int at) {
    if (text[at + 4] != '-' || text[at + 7] != '-') {
      throw Left.LEFT;
    }
    // an invalid date is also an exception
    return LocalDate.of(number(text, at, 4), number(text, at + 5, 2), number(text, at + 8, 2)).toEpochDay();
  }

  /** Returns the milliseconds of a time such as {@code 12:00:00}. A point and up to three digits may follow. */
  private static long millis(byte[] text, int at, int end) {
    int digits = end - at - CLOCK_LENGTH - 1;
    // -1: the time has no point and no digits after it
    boolean isPlain = digits == -1 || digits >= 1 && digits <= 3 && text[at + CLOCK_LENGTH] == '.';
    if (!isPlain || text[at + 2] != ':' || text[at + 5] != ':') {
      throw Left.LEFT;
    }
    int hour = number(text, at, 2);
    int minute = number(text, at + 3, 2);
    int second = number(text, at + 6, 2);
    if (hour > 23 || minute > 59 || second > 59) {
      throw Left.LEFT;
    }
    int fraction = number(text, end - Math.max(digits, 0), Math.max(digits, 0));
    for (int digit = digits; digit < 3; digit++) {
      fraction *= 10;
    }
    return ((hour * 60L + minute) * 60 + second) * 1000 + fraction;
  }

  private static int number(byte[] text, int start, int digits) {
    int number = 0;
    for (int at = start; at < start + digits; at++) {
      if (!Json.isDigit(text[at])) {
        throw Left.LEFT;
      }
      number = number * 10 + text[at] - '0';
    }
    return number;
  }
}
