package dagstersmt.foreign;

import java.util.regex.Pattern;

/**
 * Determines how reports show the name of a field. In JSON without a schema, names can be data: an object may have an
 * entry for each person. So a name that could be an address, a number or an account is shown as {@code [*]}.
 *
 * <p>These tests hide more names than {@code dagster_smt.privacy.patterns.is_personal}, which also examines checksums.
 */
final class FieldName {
    static final String HIDDEN = "[*]";
    private static final int MOST_DIGITS = 5;
    private static final Pattern ACCOUNT = Pattern.compile("[A-Z]{2}\\d{2}(?: ?[A-Z0-9]){11,}");

    private FieldName() {}

    static String shown(String name) {
        return mayBeData(name) ? HIDDEN : name;
    }

    private static boolean mayBeData(String name) {
        int digits = 0;
        int colons = 0;
        boolean onlyNumbers = true;
        for (int n = 0; n < name.length(); n++) {
            char c = name.charAt(n);
            if (c == '@') {
                return true;
            }
            if (Character.isDigit(c)) {
                digits++;
            } else if (c == ':') {
                colons++;
            } else if (c != '.' && c != ' ') {
                onlyNumbers = false;
            }
        }
        // a phone number, a card number or a national id; an IPv6 address; an IPv4 address
        boolean isNumber = digits > MOST_DIGITS || colons > 1 || digits > 3 && onlyNumbers;
        return isNumber || name.length() >= 15 && ACCOUNT.matcher(name).find();
    }
}
