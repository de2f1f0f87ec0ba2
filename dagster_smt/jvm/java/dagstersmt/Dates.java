package dagstersmt;

import java.nio.charset.StandardCharsets;
import java.text.ParsePosition;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.List;
import java.util.Locale;
import java.util.TimeZone;

/**
 * Reads and writes dates according to a pattern of {@code SimpleDateFormat}, in UTC (difference D3).
 *
 * <p>This class processes patterns of numbers, for the years 1583 to 9999, in which Java's calendar is the Gregorian
 * calendar. Java's own class processes all other patterns and years. Not safe for several threads.
 */
final class Dates {
  private static final long DAY = 86_400_000L;
  private static final long FIRST = -12_212_553_600_000L; // the first millisecond of the year 1583
  private static final long LAST = 253_402_300_799_999L; // the last millisecond of the year 9999

  private final SimpleDateFormat format;

  /**
   * For each field, its letter and its number of digits. For each literal, 0 and the character. Null if Java's class
   * processes the pattern.
   */
  private final int[][] fields;

  private final byte[] room;

  Dates(String pattern) {
    TimeZone utc = TimeZone.getTimeZone("UTC");
    format = new SimpleDateFormat(pattern, Locale.ENGLISH);
    format.setTimeZone(utc);
    format.setCalendar(new GregorianCalendar(utc, Locale.ENGLISH));
    fields = fields(pattern);
    room = new byte[fields == null ? 0 : width(fields) + 2];
  }

  /** Returns the instant of a string, in milliseconds. */
  long parse(String text) {
    Date date = format.parse(text, new ParsePosition(0));
    if (date == null) {
      throw Left.LEFT;
    }
    return date.getTime();
  }

  String text(long instant) {
    byte[] json = json(instant).bytes;
    return Rules.string(json, 0, json.length);
  }

  /** Returns the JSON string of an instant. */
  Text json(long instant) {
    if (fields == null || instant < FIRST || instant > LAST) {
      return Text.string(format.format(new Date(instant)));
    }
    long[] parts = parts(instant);
    int at = 0;
    room[at++] = '"';
    for (int[] field : fields) {
      if (field[0] == 0) {
        room[at++] = (byte) field[1];
      } else {
        digits(parts["yMdHmsS".indexOf(field[0])], at, field[1]);
        at += field[1];
      }
    }
    room[at++] = '"';
    return new Text(room.clone(), false);
  }

  private void digits(long number, int at, int count) {
    for (int i = at + count - 1; i >= at; i--) {
      room[i] = (byte) ('0' + number % 10);
      number /= 10;
    }
  }

  /**
   * Returns year, month, day, hour, minute, second and millisecond. The date is computed by Howard Hinnant's
   * civil_from_days.
   */
  private static long[] parts(long instant) {
    long days = Math.floorDiv(instant, DAY);
    long ofDay = Math.floorMod(instant, DAY);
    long shifted = days + 719_468; // days since 1 March of the year 0
    // 400 years have 146,097 days. The year begins with March, so that the day of a leap year is its last day.
    long era = Math.floorDiv(shifted, 146_097L);
    long ofEra = shifted - era * 146_097;
    long yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365;
    long ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
    // the five months from March to July have 153 days, like the five months from August to December
    long marchMonth = (5 * ofYear + 2) / 153;
    long day = ofYear - (153 * marchMonth + 2) / 5 + 1;
    long month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
    long year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
    return new long[] {
      year, month, day, ofDay / 3_600_000, ofDay / 60_000 % 60, ofDay / 1000 % 60, ofDay % 1000
    };
  }

  private static int width(int[][] fields) {
    int width = 0;
    for (int[] field : fields) {
      width += field[0] == 0 ? 1 : field[1];
    }
    return width;
  }

  /** Returns the fields of a pattern whose fields all have a fixed number of digits; null for any other pattern. */
  private static int[][] fields(String pattern) {
    List<int[]> fields = new ArrayList<>();
    int at = 0;
    while (at >= 0 && at < pattern.length()) {
      char c = pattern.charAt(at);
      if (c == '\'') {
        at = afterQuoted(pattern, at, fields);
      } else if (Character.isLetter(c)) {
        at = afterField(pattern, at, fields);
      } else {
        at = isPlain(String.valueOf(c)) ? at + 1 : -1;
        fields.add(new int[] {0, c});
      }
    }
    return at < 0 ? null : fields.toArray(new int[0][]);
  }

  /**
   * Returns the position after a quoted text in the pattern. Returns -1 for two quotes in a row, which stand for one
   * quote, and for unquoted text.
   */
  private static int afterQuoted(String pattern, int at, List<int[]> fields) {
    int close = pattern.indexOf('\'', at + 1);
    if (close <= at + 1 || !isPlain(pattern.substring(at + 1, close)) || pattern.startsWith("'", close + 1)) {
      return -1;
    }
    for (char literal : pattern.substring(at + 1, close).toCharArray()) {
      fields.add(new int[] {0, literal});
    }
    return close + 1;
  }

  /** Returns the position after a letter and its repetitions. Returns -1 if the field has no fixed number of digits. */
  private static int afterField(String pattern, int at, List<int[]> fields) {
    char letter = pattern.charAt(at);
    int next = at;
    while (next < pattern.length() && pattern.charAt(next) == letter) {
      next++;
    }
    fields.add(new int[] {letter, next - at});
    return hasFixedDigits(letter, next - at) ? next : -1;
  }

  private static boolean hasFixedDigits(char letter, int count) {
    // other counts have other meanings in SimpleDateFormat: yy is a year of the century, MMM is a name, H has one or
    // two digits
    switch (letter) {
      case 'y':
        return count == 4;
      case 'S':
        return count == 3;
      default:
        return "MdHms".indexOf(letter) >= 0 && count == 2;
    }
  }

  /** Returns true if a string needs no escapes in JSON. */
  private static boolean isPlain(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    for (byte c : bytes) {
      if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
        return false;
      }
    }
    return bytes.length == text.length();
  }
}
