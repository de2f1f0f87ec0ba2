"""Defines sets of characters in Java's regular expressions: classes, properties, scripts, blocks, and variants of upper
and lower case.

Literal characters become ranges. A property stays a property of ``regex``, which tests properties faster than lists of
ranges. Java 17 has Unicode 13, and ``regex`` has a newer version. Characters that were assigned or reclassified after
Unicode 13 may therefore differ, but all other characters agree. Blocks and scripts are those of Unicode 13.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

LAST = 0x10FFFF
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Chars:
    """A set of characters. It is stored as sorted ranges of code points, or as the text between the brackets of a class
    in ``regex``.
    """

    spans: tuple[Span, ...] = ()
    rule: str = ""

    def inside(self) -> str:
        """Returns the text between the brackets of a ``regex`` class that matches this set."""
        return self.rule or "".join(_escaped(a) if a == b else f"{_escaped(a)}-{_escaped(b)}" for a, b in self.spans)

    def text(self) -> str:
        """Returns the shortest ``regex`` expression that matches one character of the set."""
        if self.rule:
            if re.fullmatch(r"\\[pP]\{\w+\}", self.rule):
                return self.rule
            return f"[{self.rule}]"
        if not self.spans:
            return "(?!)"
        if self.spans == ((0, LAST),):
            return "(?s:.)"
        if self.spans[0][0] == 0 and self.spans[-1][1] == LAST:
            return f"[^{negate(self).inside()}]"
        first, last = self.spans[0]
        if first == last and len(self.spans) == 1:
            return _literal(first)
        return f"[{self.inside()}]"


def _escaped(code: int) -> str:
    if code < 0x80 and chr(code).isalnum():
        return chr(code)
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def _literal(code: int) -> str:
    char = chr(code)
    if char == "_" or (code < 0x80 and char.isalnum()) or (code > 0xA0 and char.isprintable()):
        return char
    if 0x20 < code < 0x7F:
        return "\\" + char
    return _escaped(code)


def of_spans(spans: Iterable[Span]) -> Chars:
    """Returns the set of the characters in ``spans``. Each span is the first and the last code point of a range. Spans
    may overlap.
    """
    merged: list[Span] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return Chars(tuple(merged))


def of(text: str) -> Chars:
    """Returns the set of the characters in ``text``. A text such as ``a-z`` stands for a range."""
    parts = re.findall(r"(.)-(.)|(.)", text, re.DOTALL)
    return of_spans((ord(low or one), ord(high or one)) for low, high, one in parts)


def rule(*names: str, also: str = "") -> Chars:
    """Returns a set of characters: each character that has one of the ``regex`` properties ``names``, and each
    character in ``also``.
    """
    return union(Chars(rule="".join(rf"\p{{{name}}}" for name in names)), of(also))


def union(one: Chars, two: Chars) -> Chars:
    """Returns the set of characters that are in ``one`` or ``two``."""
    if not (one.rule or two.rule):
        return of_spans(one.spans + two.spans)
    return Chars(rule=one.inside() + two.inside())


def negate(one: Chars) -> Chars:
    """Returns the set of characters that are not in ``one``."""
    if re.fullmatch(r"\\[pP]\{\w+\}", one.rule):
        return Chars(rule=one.rule.swapcase()[:2] + one.rule[2:])
    if one.rule:  # [^\P{L}\p{L}] matches every character in ``regex``, so ^ only negates positive properties
        simple = "^" not in one.rule and "\\P" not in one.rule and "--" not in one.rule
        return Chars(rule=f"[^{one.rule}]" if simple else rf"[\x00-\U0010ffff--[{one.rule}]]")
    edges = [-1, *(edge for span in one.spans for edge in span), LAST + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    spans = []
    for low, high in gaps:
        if low + 1 < high:
            spans.append((low + 1, high - 1))
    return Chars(tuple(spans))


def intersect(one: Chars, two: Chars) -> Chars:
    """Returns the set of characters that are in both ``one`` and ``two``."""
    if not (one.rule or two.rule):
        return negate(union(negate(one), negate(two)))
    if not (one.inside() and two.inside()):
        return Chars()
    return Chars(rule=f"[[{one.inside()}]&&[{two.inside()}]]")


def upper(code: int) -> int:
    """Returns the upper case of the character ``code``, as ``Character.toUpperCase`` does. The result is always one
    character, so ß stays ß.
    """
    # the full upper case of ᾳ has two characters; its title case ᾼ is the result of Java
    for text in (chr(code).upper(), chr(code).title()):
        if len(text) == 1:
            return ord(text)
    return code


def lower(code: int) -> int:
    """Returns the lower case of the character ``code``, as ``Character.toLowerCase`` does. The result is always one
    character, even for İ, whose full lower case has two characters.
    """
    text = chr(code).lower()
    if len(text) == 1:
        return ord(text)
    return ord("i")


@cache
def _cased() -> dict[int, int]:
    """Maps each character that has an upper or lower case to its folded form: both ``A`` and ``a`` to ``a``. With the
    flags i and u, Java compares the folded forms.
    """
    # all characters of Unicode, so this runs only if a pattern has the flags i and u
    chars = map(chr, range(LAST + 1))
    cased = (ord(c) for c in chars if c.upper() != c or c.lower() != c)
    codes = {}
    for code in cased:
        codes[code] = lower(upper(code))
    return codes


@cache
def _same() -> dict[int, list[int]]:
    same: dict[int, list[int]] = defaultdict(list)
    for code, folded in _cased().items():
        same[folded].append(code)
    return same


def any_case(code: int, *, unicode: bool, alone: bool) -> Chars:
    """Returns the characters that the literal character ``code`` matches if the flag i is set: for ``a``, both ``a``
    and ``A``.

    Args:
        code: The literal character.
        unicode: True if the flag u is also set. Without the flag u, only A to Z have cases.
        alone: True if no other literal character precedes or follows the character. Java then matches ß only with ß.
    """
    if not unicode:
        other = ord(chr(code).swapcase()) if code < 0x80 else code
        return of_spans([(code, code), (other, other)])
    folded = lower(upper(code))
    if alone and upper(code) == folded:
        return of_spans([(code, code)])
    return of_spans((c, c) for c in (code, folded, *_same().get(folded, ())))


def any_case_range(low: int, high: int, *, unicode: bool) -> Chars:
    """Returns the characters that the range from ``low`` to ``high`` in a class matches if the flag i is set."""
    if unicode:
        also = []
        for c, folded in _cased().items():
            if low <= upper(c) <= high or low <= folded <= high:
                also.append(c)
    else:
        also = []
        for c in range(0x80):
            if chr(c).isalpha() and low <= ord(chr(c).swapcase()) <= high:
                also.append(c)
    return of_spans([(low, high), *((c, c) for c in also)])


def named_char(name: str) -> str | None:
    r"""Returns the character of ``\N{name}``. Returns None if Java does not know the name. Unlike ``regex``, Java knows
    neither aliases nor sequences.
    """
    name = name.strip().upper()
    try:
        char = unicodedata.lookup(name)
    except KeyError:
        return None
    known = len(char) == 1 and unicodedata.name(char, "") == name
    # Java names these characters by their block and code point, such as CJK UNIFIED IDEOGRAPHS 4E00
    if known and not re.search("-[0-9A-F]+$|^HANGUL SYLLABLE", name):
        return char
    return None


_BLOCKS = """
BASIC LATIN 0-7F; LATIN-1 SUPPLEMENT 80-FF; LATIN EXTENDED-A 100-17F; LATIN EXTENDED-B 180-24F;
IPA EXTENSIONS 250-2AF; SPACING MODIFIER LETTERS 2B0-2FF; COMBINING DIACRITICAL MARKS 300-36F; GREEK 370-3FF;
CYRILLIC 400-4FF; CYRILLIC SUPPLEMENTARY 500-52F; ARMENIAN 530-58F; HEBREW 590-5FF; ARABIC 600-6FF;
SYRIAC 700-74F; ARABIC SUPPLEMENT 750-77F; THAANA 780-7BF; NKO 7C0-7FF; SAMARITAN 800-83F; MANDAIC 840-85F;
SYRIAC SUPPLEMENT 860-86F; ARABIC EXTENDED-A 8A0-8FF; DEVANAGARI 900-97F; BENGALI 980-9FF; GURMUKHI A00-A7F;
GUJARATI A80-AFF; ORIYA B00-B7F; TAMIL B80-BFF; TELUGU C00-C7F; KANNADA C80-CFF; MALAYALAM D00-D7F;
SINHALA D80-DFF; THAI E00-E7F; LAO E80-EFF; TIBETAN F00-FFF; MYANMAR 1000-109F; GEORGIAN 10A0-10FF;
HANGUL JAMO 1100-11FF; ETHIOPIC 1200-137F; ETHIOPIC SUPPLEMENT 1380-139F; CHEROKEE 13A0-13FF;
UNIFIED CANADIAN ABORIGINAL SYLLABICS 1400-167F; OGHAM 1680-169F; RUNIC 16A0-16FF; TAGALOG 1700-171F;
HANUNOO 1720-173F; BUHID 1740-175F; TAGBANWA 1760-177F; KHMER 1780-17FF; MONGOLIAN 1800-18AF;
UNIFIED CANADIAN ABORIGINAL SYLLABICS EXTENDED 18B0-18FF; LIMBU 1900-194F; TAI LE 1950-197F;
NEW TAI LUE 1980-19DF; KHMER SYMBOLS 19E0-19FF; BUGINESE 1A00-1A1F; TAI THAM 1A20-1AAF;
COMBINING DIACRITICAL MARKS EXTENDED 1AB0-1AFF; BALINESE 1B00-1B7F; SUNDANESE 1B80-1BBF; BATAK 1BC0-1BFF;
LEPCHA 1C00-1C4F; OL CHIKI 1C50-1C7F; CYRILLIC EXTENDED-C 1C80-1C8F; GEORGIAN EXTENDED 1C90-1CBF;
SUNDANESE SUPPLEMENT 1CC0-1CCF; VEDIC EXTENSIONS 1CD0-1CFF; PHONETIC EXTENSIONS 1D00-1D7F;
PHONETIC EXTENSIONS SUPPLEMENT 1D80-1DBF; COMBINING DIACRITICAL MARKS SUPPLEMENT 1DC0-1DFF;
LATIN EXTENDED ADDITIONAL 1E00-1EFF; GREEK EXTENDED 1F00-1FFF; GENERAL PUNCTUATION 2000-206F;
SUPERSCRIPTS AND SUBSCRIPTS 2070-209F; CURRENCY SYMBOLS 20A0-20CF; COMBINING MARKS FOR SYMBOLS 20D0-20FF;
LETTERLIKE SYMBOLS 2100-214F; NUMBER FORMS 2150-218F; ARROWS 2190-21FF; MATHEMATICAL OPERATORS 2200-22FF;
MISCELLANEOUS TECHNICAL 2300-23FF; CONTROL PICTURES 2400-243F; OPTICAL CHARACTER RECOGNITION 2440-245F;
ENCLOSED ALPHANUMERICS 2460-24FF; BOX DRAWING 2500-257F; BLOCK ELEMENTS 2580-259F; GEOMETRIC SHAPES 25A0-25FF;
MISCELLANEOUS SYMBOLS 2600-26FF; DINGBATS 2700-27BF; MISCELLANEOUS MATHEMATICAL SYMBOLS-A 27C0-27EF;
SUPPLEMENTAL ARROWS-A 27F0-27FF; BRAILLE PATTERNS 2800-28FF; SUPPLEMENTAL ARROWS-B 2900-297F;
MISCELLANEOUS MATHEMATICAL SYMBOLS-B 2980-29FF; SUPPLEMENTAL MATHEMATICAL OPERATORS 2A00-2AFF;
MISCELLANEOUS SYMBOLS AND ARROWS 2B00-2BFF; GLAGOLITIC 2C00-2C5F; LATIN EXTENDED-C 2C60-2C7F; COPTIC 2C80-2CFF;
GEORGIAN SUPPLEMENT 2D00-2D2F; TIFINAGH 2D30-2D7F; ETHIOPIC EXTENDED 2D80-2DDF; CYRILLIC EXTENDED-A 2DE0-2DFF;
SUPPLEMENTAL PUNCTUATION 2E00-2E7F; CJK RADICALS SUPPLEMENT 2E80-2EFF; KANGXI RADICALS 2F00-2FDF;
IDEOGRAPHIC DESCRIPTION CHARACTERS 2FF0-2FFF; CJK SYMBOLS AND PUNCTUATION 3000-303F; HIRAGANA 3040-309F;
KATAKANA 30A0-30FF; BOPOMOFO 3100-312F; HANGUL COMPATIBILITY JAMO 3130-318F; KANBUN 3190-319F;
BOPOMOFO EXTENDED 31A0-31BF; CJK STROKES 31C0-31EF; KATAKANA PHONETIC EXTENSIONS 31F0-31FF;
ENCLOSED CJK LETTERS AND MONTHS 3200-32FF; CJK COMPATIBILITY 3300-33FF;
CJK UNIFIED IDEOGRAPHS EXTENSION A 3400-4DBF; YIJING HEXAGRAM SYMBOLS 4DC0-4DFF; CJK UNIFIED IDEOGRAPHS 4E00-9FFF;
YI SYLLABLES A000-A48F; YI RADICALS A490-A4CF; LISU A4D0-A4FF; VAI A500-A63F; CYRILLIC EXTENDED-B A640-A69F;
BAMUM A6A0-A6FF; MODIFIER TONE LETTERS A700-A71F; LATIN EXTENDED-D A720-A7FF; SYLOTI NAGRI A800-A82F;
COMMON INDIC NUMBER FORMS A830-A83F; PHAGS-PA A840-A87F; SAURASHTRA A880-A8DF; DEVANAGARI EXTENDED A8E0-A8FF;
KAYAH LI A900-A92F; REJANG A930-A95F; HANGUL JAMO EXTENDED-A A960-A97F; JAVANESE A980-A9DF;
MYANMAR EXTENDED-B A9E0-A9FF; CHAM AA00-AA5F; MYANMAR EXTENDED-A AA60-AA7F; TAI VIET AA80-AADF;
MEETEI MAYEK EXTENSIONS AAE0-AAFF; ETHIOPIC EXTENDED-A AB00-AB2F; LATIN EXTENDED-E AB30-AB6F;
CHEROKEE SUPPLEMENT AB70-ABBF; MEETEI MAYEK ABC0-ABFF; HANGUL SYLLABLES AC00-D7AF;
HANGUL JAMO EXTENDED-B D7B0-D7FF; HIGH SURROGATES D800-DB7F; HIGH PRIVATE USE SURROGATES DB80-DBFF;
LOW SURROGATES DC00-DFFF; PRIVATE USE AREA E000-F8FF; CJK COMPATIBILITY IDEOGRAPHS F900-FAFF;
ALPHABETIC PRESENTATION FORMS FB00-FB4F; ARABIC PRESENTATION FORMS-A FB50-FDFF; VARIATION SELECTORS FE00-FE0F;
VERTICAL FORMS FE10-FE1F; COMBINING HALF MARKS FE20-FE2F; CJK COMPATIBILITY FORMS FE30-FE4F;
SMALL FORM VARIANTS FE50-FE6F; ARABIC PRESENTATION FORMS-B FE70-FEFF; HALFWIDTH AND FULLWIDTH FORMS FF00-FFEF;
SPECIALS FFF0-FFFF; LINEAR B SYLLABARY 10000-1007F; LINEAR B IDEOGRAMS 10080-100FF; AEGEAN NUMBERS 10100-1013F;
ANCIENT GREEK NUMBERS 10140-1018F; ANCIENT SYMBOLS 10190-101CF; PHAISTOS DISC 101D0-101FF; LYCIAN 10280-1029F;
CARIAN 102A0-102DF; COPTIC EPACT NUMBERS 102E0-102FF; OLD ITALIC 10300-1032F; GOTHIC 10330-1034F;
OLD PERMIC 10350-1037F; UGARITIC 10380-1039F; OLD PERSIAN 103A0-103DF; DESERET 10400-1044F; SHAVIAN 10450-1047F;
OSMANYA 10480-104AF; OSAGE 104B0-104FF; ELBASAN 10500-1052F; CAUCASIAN ALBANIAN 10530-1056F; LINEAR A 10600-1077F;
CYPRIOT SYLLABARY 10800-1083F; IMPERIAL ARAMAIC 10840-1085F; PALMYRENE 10860-1087F; NABATAEAN 10880-108AF;
HATRAN 108E0-108FF; PHOENICIAN 10900-1091F; LYDIAN 10920-1093F; MEROITIC HIEROGLYPHS 10980-1099F;
MEROITIC CURSIVE 109A0-109FF; KHAROSHTHI 10A00-10A5F; OLD SOUTH ARABIAN 10A60-10A7F;
OLD NORTH ARABIAN 10A80-10A9F; MANICHAEAN 10AC0-10AFF; AVESTAN 10B00-10B3F; INSCRIPTIONAL PARTHIAN 10B40-10B5F;
INSCRIPTIONAL PAHLAVI 10B60-10B7F; PSALTER PAHLAVI 10B80-10BAF; OLD TURKIC 10C00-10C4F; OLD HUNGARIAN 10C80-10CFF;
HANIFI ROHINGYA 10D00-10D3F; RUMI NUMERAL SYMBOLS 10E60-10E7F; YEZIDI 10E80-10EBF; OLD SOGDIAN 10F00-10F2F;
SOGDIAN 10F30-10F6F; CHORASMIAN 10FB0-10FDF; ELYMAIC 10FE0-10FFF; BRAHMI 11000-1107F; KAITHI 11080-110CF;
SORA SOMPENG 110D0-110FF; CHAKMA 11100-1114F; MAHAJANI 11150-1117F; SHARADA 11180-111DF;
SINHALA ARCHAIC NUMBERS 111E0-111FF; KHOJKI 11200-1124F; MULTANI 11280-112AF; KHUDAWADI 112B0-112FF;
GRANTHA 11300-1137F; NEWA 11400-1147F; TIRHUTA 11480-114DF; SIDDHAM 11580-115FF; MODI 11600-1165F;
MONGOLIAN SUPPLEMENT 11660-1167F; TAKRI 11680-116CF; AHOM 11700-1173F; DOGRA 11800-1184F; WARANG CITI 118A0-118FF;
DIVES AKURU 11900-1195F; NANDINAGARI 119A0-119FF; ZANABAZAR SQUARE 11A00-11A4F; SOYOMBO 11A50-11AAF;
PAU CIN HAU 11AC0-11AFF; BHAIKSUKI 11C00-11C6F; MARCHEN 11C70-11CBF; MASARAM GONDI 11D00-11D5F;
GUNJALA GONDI 11D60-11DAF; MAKASAR 11EE0-11EFF; LISU SUPPLEMENT 11FB0-11FBF; TAMIL SUPPLEMENT 11FC0-11FFF;
CUNEIFORM 12000-123FF; CUNEIFORM NUMBERS AND PUNCTUATION 12400-1247F; EARLY DYNASTIC CUNEIFORM 12480-1254F;
EGYPTIAN HIEROGLYPHS 13000-1342F; EGYPTIAN HIEROGLYPH FORMAT CONTROLS 13430-1343F;
ANATOLIAN HIEROGLYPHS 14400-1467F; BAMUM SUPPLEMENT 16800-16A3F; MRO 16A40-16A6F; BASSA VAH 16AD0-16AFF;
PAHAWH HMONG 16B00-16B8F; MEDEFAIDRIN 16E40-16E9F; MIAO 16F00-16F9F;
IDEOGRAPHIC SYMBOLS AND PUNCTUATION 16FE0-16FFF; TANGUT 17000-187FF; TANGUT COMPONENTS 18800-18AFF;
KHITAN SMALL SCRIPT 18B00-18CFF; TANGUT SUPPLEMENT 18D00-18D8F; KANA SUPPLEMENT 1B000-1B0FF;
KANA EXTENDED-A 1B100-1B12F; SMALL KANA EXTENSION 1B130-1B16F; NUSHU 1B170-1B2FF; DUPLOYAN 1BC00-1BC9F;
SHORTHAND FORMAT CONTROLS 1BCA0-1BCAF; BYZANTINE MUSICAL SYMBOLS 1D000-1D0FF; MUSICAL SYMBOLS 1D100-1D1FF;
ANCIENT GREEK MUSICAL NOTATION 1D200-1D24F; MAYAN NUMERALS 1D2E0-1D2FF; TAI XUAN JING SYMBOLS 1D300-1D35F;
COUNTING ROD NUMERALS 1D360-1D37F; MATHEMATICAL ALPHANUMERIC SYMBOLS 1D400-1D7FF; SUTTON SIGNWRITING 1D800-1DAAF;
GLAGOLITIC SUPPLEMENT 1E000-1E02F; NYIAKENG PUACHUE HMONG 1E100-1E14F; WANCHO 1E2C0-1E2FF;
MENDE KIKAKUI 1E800-1E8DF; ADLAM 1E900-1E95F; INDIC SIYAQ NUMBERS 1EC70-1ECBF; OTTOMAN SIYAQ NUMBERS 1ED00-1ED4F;
ARABIC MATHEMATICAL ALPHABETIC SYMBOLS 1EE00-1EEFF; MAHJONG TILES 1F000-1F02F; DOMINO TILES 1F030-1F09F;
PLAYING CARDS 1F0A0-1F0FF; ENCLOSED ALPHANUMERIC SUPPLEMENT 1F100-1F1FF;
ENCLOSED IDEOGRAPHIC SUPPLEMENT 1F200-1F2FF; MISCELLANEOUS SYMBOLS AND PICTOGRAPHS 1F300-1F5FF;
EMOTICONS 1F600-1F64F; ORNAMENTAL DINGBATS 1F650-1F67F; TRANSPORT AND MAP SYMBOLS 1F680-1F6FF;
ALCHEMICAL SYMBOLS 1F700-1F77F; GEOMETRIC SHAPES EXTENDED 1F780-1F7FF; SUPPLEMENTAL ARROWS-C 1F800-1F8FF;
SUPPLEMENTAL SYMBOLS AND PICTOGRAPHS 1F900-1F9FF; CHESS SYMBOLS 1FA00-1FA6F;
SYMBOLS AND PICTOGRAPHS EXTENDED-A 1FA70-1FAFF; SYMBOLS FOR LEGACY COMPUTING 1FB00-1FBFF;
CJK UNIFIED IDEOGRAPHS EXTENSION B 20000-2A6DF; CJK UNIFIED IDEOGRAPHS EXTENSION C 2A700-2B73F;
CJK UNIFIED IDEOGRAPHS EXTENSION D 2B740-2B81F; CJK UNIFIED IDEOGRAPHS EXTENSION E 2B820-2CEAF;
CJK UNIFIED IDEOGRAPHS EXTENSION F 2CEB0-2EBEF; CJK COMPATIBILITY IDEOGRAPHS SUPPLEMENT 2F800-2FA1F;
CJK UNIFIED IDEOGRAPHS EXTENSION G 30000-3134F; TAGS E0000-E007F; VARIATION SELECTORS SUPPLEMENT E0100-E01EF;
SUPPLEMENTARY PRIVATE USE AREA-A F0000-FFFFF; SUPPLEMENTARY PRIVATE USE AREA-B 100000-10FFFF
"""  # of Unicode 13
_OTHER_NAMES = {
    "GREEK": ("GREEK AND COPTIC",),
    "CYRILLIC SUPPLEMENTARY": ("CYRILLIC SUPPLEMENT",),
    "COMBINING MARKS FOR SYMBOLS": ("COMBINING DIACRITICAL MARKS FOR SYMBOLS",),
}
_SCRIPTS = """
ADLM=ADLAM AGHB=CAUCASIAN_ALBANIAN AHOM=AHOM ARAB=ARABIC ARMI=IMPERIAL_ARAMAIC ARMN=ARMENIAN AVST=AVESTAN
BALI=BALINESE BAMU=BAMUM BASS=BASSA_VAH BATK=BATAK BENG=BENGALI BHKS=BHAIKSUKI BOPO=BOPOMOFO BRAH=BRAHMI
BRAI=BRAILLE BUGI=BUGINESE BUHD=BUHID CAKM=CHAKMA CANS=CANADIAN_ABORIGINAL CARI=CARIAN CHAM=CHAM CHER=CHEROKEE
CHRS=CHORASMIAN COPT=COPTIC CPRT=CYPRIOT CYRL=CYRILLIC DEVA=DEVANAGARI DIAK=DIVES_AKURU DOGR=DOGRA DSRT=DESERET
DUPL=DUPLOYAN EGYP=EGYPTIAN_HIEROGLYPHS ELBA=ELBASAN ELYM=ELYMAIC ETHI=ETHIOPIC GEOR=GEORGIAN GLAG=GLAGOLITIC
GONG=GUNJALA_GONDI GONM=MASARAM_GONDI GOTH=GOTHIC GRAN=GRANTHA GREK=GREEK GUJR=GUJARATI GURU=GURMUKHI HANG=HANGUL
HANI=HAN HANO=HANUNOO HATR=HATRAN HEBR=HEBREW HIRA=HIRAGANA HLUW=ANATOLIAN_HIEROGLYPHS HMNG=PAHAWH_HMONG
HMNP=NYIAKENG_PUACHUE_HMONG HUNG=OLD_HUNGARIAN ITAL=OLD_ITALIC JAVA=JAVANESE KALI=KAYAH_LI KANA=KATAKANA
KHAR=KHAROSHTHI KHMR=KHMER KHOJ=KHOJKI KITS=KHITAN_SMALL_SCRIPT KNDA=KANNADA KTHI=KAITHI LANA=TAI_THAM LAOO=LAO
LATN=LATIN LEPC=LEPCHA LIMB=LIMBU LINA=LINEAR_A LINB=LINEAR_B LISU=LISU LYCI=LYCIAN LYDI=LYDIAN MAHJ=MAHAJANI
MAKA=MAKASAR MAND=MANDAIC MANI=MANICHAEAN MARC=MARCHEN MEDF=MEDEFAIDRIN MEND=MENDE_KIKAKUI MERC=MEROITIC_CURSIVE
MERO=MEROITIC_HIEROGLYPHS MLYM=MALAYALAM MODI=MODI MONG=MONGOLIAN MROO=MRO MTEI=MEETEI_MAYEK MULT=MULTANI
MYMR=MYANMAR NAND=NANDINAGARI NARB=OLD_NORTH_ARABIAN NBAT=NABATAEAN NEWA=NEWA NKOO=NKO NSHU=NUSHU OGAM=OGHAM
OLCK=OL_CHIKI ORKH=OLD_TURKIC ORYA=ORIYA OSGE=OSAGE OSMA=OSMANYA PALM=PALMYRENE PAUC=PAU_CIN_HAU PERM=OLD_PERMIC
PHAG=PHAGS_PA PHLI=INSCRIPTIONAL_PAHLAVI PHLP=PSALTER_PAHLAVI PHNX=PHOENICIAN PLRD=MIAO
PRTI=INSCRIPTIONAL_PARTHIAN RJNG=REJANG ROHG=HANIFI_ROHINGYA RUNR=RUNIC SAMR=SAMARITAN SARB=OLD_SOUTH_ARABIAN
SAUR=SAURASHTRA SGNW=SIGNWRITING SHAW=SHAVIAN SHRD=SHARADA SIDD=SIDDHAM SIND=KHUDAWADI SINH=SINHALA SOGD=SOGDIAN
SOGO=OLD_SOGDIAN SORA=SORA_SOMPENG SOYO=SOYOMBO SUND=SUNDANESE SYLO=SYLOTI_NAGRI SYRC=SYRIAC TAGB=TAGBANWA
TAKR=TAKRI TALE=TAI_LE TALU=NEW_TAI_LUE TAML=TAMIL TANG=TANGUT TAVT=TAI_VIET TELU=TELUGU TFNG=TIFINAGH
TGLG=TAGALOG THAA=THAANA THAI=THAI TIBT=TIBETAN TIRH=TIRHUTA UGAR=UGARITIC VAII=VAI WARA=WARANG_CITI WCHO=WANCHO
XPEO=OLD_PERSIAN XSUX=CUNEIFORM YEZI=YEZIDI YIII=YI ZANB=ZANABAZAR_SQUARE ZINH=INHERITED ZYYY=COMMON ZZZZ=UNKNOWN
"""


@cache
def _blocks() -> dict[str, Chars]:
    """Maps all names of blocks to their sets of characters. The block ``GREEK EXTENDED`` is also called
    ``GREEKEXTENDED`` and ``GREEK_EXTENDED``.
    """
    blocks = {}
    for entry in " ".join(_BLOCKS.split()).split("; "):
        name, _, ends = entry.rpartition(" ")
        low, high = ends.split("-")
        span = of_spans([(int(low, 16), int(high, 16))])
        for form in (name, *_OTHER_NAMES.get(name, ())):
            blocks[form] = blocks[form.replace(" ", "")] = span
        blocks[re.sub("[ -]", "_", name)] = span
    return blocks


@cache
def _scripts() -> dict[str, str]:
    pairs = [entry.split("=") for entry in _SCRIPTS.split()]
    results = {}
    for short, long in pairs:
        for name in (short, long):
            results[name] = short
    return results


def block(name: str) -> Chars | None:
    r"""Returns the set of a block, such as ``\p{InGreek}``. Blocks are the same in all versions of Unicode."""
    if name.isascii():
        return _blocks().get(name.upper())
    return None


def script(name: str) -> Chars | None:
    r"""Returns the set of a script, such as ``\p{IsLatin}``."""
    short = _scripts().get(name.upper()) if name.isascii() else None
    if short == "ZZZZ":
        return rule("Script=Zzzz", "Co", "Cn", "Cs")
    if short is None:
        return None
    return Chars(rule=rf"\p{{Script={short.title()}}}")


_LETTER_CASES = rule("Lu", "Ll", "Lt")
_CASES = rule("Lowercase", "Uppercase", "Lt")
_SPACE = rule("Z", also="\t-\r\x85")
_GRAPH = negate(rule("Z", "Cc", "Cs", "Cn"))
_BLANK = rule("Zs", also="\t")
_HEX = rule("Nd", also="0-9A-Fa-f０-９Ａ-Ｆａ-ｆ")
_IGNORABLE = rule("Cf", also="\0-\x08\x0e-\x1b\x7f-\x9f")
WORD = rule("Alphabetic", "M", "Nd", "Pc", also="\u200c\u200d")
_ANY_CASE = {
    "LOWER": _CASES, "UPPER": _CASES, "LOWERCASE": _CASES, "UPPERCASE": _CASES, "TITLECASE": _CASES,
    "Lu": _LETTER_CASES, "Ll": _LETTER_CASES, "Lt": _LETTER_CASES, "Lower": of("a-zA-Z"), "Upper": of("a-zA-Z"),
    "javaLowerCase": _CASES, "javaUpperCase": _CASES, "javaTitleCase": _CASES,
}  # fmt: skip
_UNICODE_POSIX = {
    "ALPHA": rule("Alphabetic"), "LOWER": rule("Lowercase"), "UPPER": rule("Uppercase"), "SPACE": _SPACE,
    "PUNCT": rule("P"), "XDIGIT": _HEX, "ALNUM": rule("Alphabetic", "Nd"), "CNTRL": rule("Cc"), "DIGIT": rule("Nd"),
    "BLANK": _BLANK, "GRAPH": _GRAPH, "PRINT": intersect(union(_GRAPH, _BLANK), negate(rule("Cc"))),
}  # fmt: skip
_UNICODE = {
    "ALPHABETIC": rule("Alphabetic"), "ASSIGNED": negate(rule("Cn")), "CONTROL": rule("Cc"), "HEXDIGIT": _HEX,
    "HEX_DIGIT": _HEX, "IDEOGRAPHIC": rule("Ideographic"), "JOINCONTROL": of("\u200c\u200d"),
    "JOIN_CONTROL": of("\u200c\u200d"), "LETTER": rule("L"), "LOWERCASE": rule("Lowercase"),
    "NONCHARACTERCODEPOINT": rule("Noncharacter_Code_Point"), "TITLECASE": rule("Lt"),
    "NONCHARACTER_CODE_POINT": rule("Noncharacter_Code_Point"), "PUNCTUATION": rule("P"),
    "UPPERCASE": rule("Uppercase"), "WHITESPACE": _SPACE, "WHITE_SPACE": _SPACE, "WORD": WORD,
}  # fmt: skip
_CATEGORIES = "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S"
_PROPERTIES = {
    **{name: rule(name) for name in _CATEGORIES.split()},
    "LC": _LETTER_CASES, "LD": rule("L", "Nd"), "L1": of("\0-\xff"), "all": of_spans([(0, LAST)]),
    "ASCII": of("\0-\x7f"), "Alnum": of("a-zA-Z0-9"), "Alpha": of("a-zA-Z"), "Blank": of(" \t"),
    "Cntrl": of("\0-\x1f\x7f"), "Digit": of("0-9"), "Graph": of("!-~"), "Lower": of("a-z"), "Print": of(" -~"),
    "Punct": of("!-/:-@[-`{-~"), "Space": of("\t-\r "), "Upper": of("A-Z"), "XDigit": of("0-9a-fA-F"),
    "javaLowerCase": rule("Lowercase"), "javaUpperCase": rule("Uppercase"), "javaAlphabetic": rule("Alphabetic"),
    "javaIdeographic": rule("Ideographic"), "javaTitleCase": rule("Lt"), "javaDigit": rule("Nd"),
    "javaDefined": negate(rule("Cn")), "javaLetter": rule("L"), "javaLetterOrDigit": rule("L", "Nd"),
    "javaJavaIdentifierStart": rule("L", "Nl", "Sc", "Pc"),
    "javaJavaIdentifierPart": union(rule("L", "Nl", "Sc", "Pc", "Nd", "Mc", "Mn"), _IGNORABLE),
    "javaUnicodeIdentifierStart": rule("L", "Nl", "Other_ID_Start"),
    "javaUnicodeIdentifierPart": union(
        rule("L", "Nl", "Pc", "Nd", "Mc", "Mn", "Other_ID_Start", "Other_ID_Continue"), _IGNORABLE
    ),
    "javaIdentifierIgnorable": _IGNORABLE, "javaSpaceChar": rule("Z"), "javaISOControl": of("\0-\x1f\x7f-\x9f"),
    "javaWhitespace": union(
        intersect(rule("Z"), negate(of("\xa0\u2007\u202f"))), of("\t-\r\x1c-\x1f")
    ),
    "javaMirrored": rule("Bidi_Mirrored"),
}  # fmt: skip


def _of_java(name: str, cases: bool) -> Chars | None:
    if cases and name in _ANY_CASE and name in _PROPERTIES:
        return _ANY_CASE[name]
    return _PROPERTIES.get(name)


def _of_unicode(name: str, cases: bool, names: dict[str, Chars]) -> Chars | None:
    name = name.upper() if name.isascii() else name
    if cases and name in _ANY_CASE and name in names:
        return _ANY_CASE[name]
    return names.get(name)


def prop(name: str, *, cases: bool, unicode: bool) -> Chars | None:
    r"""Returns the set of the property ``\p{name}``. Returns None if Java has no such property.

    Args:
        name: The text between the braces.
        cases: True if the flag i is set: upper, lower and title case are then equal.
        unicode: True if the flag U is set: POSIX names then mean Unicode properties.
    """
    key, equals, value = name.partition("=")
    if equals:
        key = key.lower()
        if key in ("sc", "script"):
            return script(value)
        if key in ("blk", "block"):
            return block(value)
        if key in ("gc", "general_category"):
            return _of_java(value, cases)
        return None
    if name.startswith("In"):
        return block(name[2:])
    if name.startswith("Is"):
        name = name[2:]
        return _of_unicode(name, cases, _UNICODE | _UNICODE_POSIX) or _of_java(name, cases) or script(name)
    return (unicode and _of_unicode(name, cases, _UNICODE_POSIX)) or _of_java(name, cases)


_VERTICAL, _HORIZONTAL = of("\n-\r\x85\u2028\u2029"), of("\t \xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000")
_ESCAPES = {"d": of("0-9"), "w": of("a-zA-Z_0-9"), "s": of("\t-\r "), "v": _VERTICAL, "h": _HORIZONTAL}
_UNICODE_ESCAPES = _ESCAPES | {"d": rule("Nd"), "w": WORD, "s": _SPACE}


def escape(letter: str, *, unicode: bool) -> Chars:
    r"""Returns the set of characters that an escape such as ``\d`` or ``\D`` matches. ``letter`` is the letter of the
    escape, and ``unicode`` the flag U.
    """
    chars = (_UNICODE_ESCAPES if unicode else _ESCAPES)[letter.lower()]
    if letter.isupper():
        return negate(chars)
    return chars
