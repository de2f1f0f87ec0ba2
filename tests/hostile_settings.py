"""Settings of a session of somebody else's that change what SQL, Arrow, Python workers or files mean.

Our results have to be the same under all of them. ``SETS`` are lists to be set at once; of settings with several values
each list has another one. ``EACH`` is every setting alone, which says which of a list makes a difference.
"""

from contextlib import contextmanager

FIRST = {
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.pandas.convertToArrowArraySafely": "true",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.avro.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.disableMapKeyNormalization": "true",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.legacy.createEmptyCollectionUsingStringType": "true",
    "spark.sql.legacy.charVarcharAsString": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "true",
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.legacy.nullInEmptyListBehavior": "true",
    "spark.sql.legacy.literal.pickMinimumPrecision": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "true",
    "spark.sql.legacy.bangEqualsNot": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.function.concatBinaryAsString": "true",
    "spark.sql.function.eltOutputAsString": "true",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.crossJoin.enabled": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.sources.default": "csv",
    "spark.sql.files.maxPartitionBytes": "1000",
    "spark.sql.chunkBase64String.enabled": "true",
    "spark.sql.icu.caseMappings.enabled": "false",
    "spark.sql.binaryOutputStyle": "HEX",
    "spark.sql.maxPlanStringLength": "10",
    "spark.sql.debug.maxToStringFields": "1",
    "spark.sql.optimizer.maxIterations": "20",
}
SECOND = {
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "-1",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.legacy.timeParserPolicy": "EXCEPTION",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.parquet.int96RebaseModeInRead": "EXCEPTION",
    "spark.sql.avro.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.parquet.int96TimestampConversion": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.variable.substitute": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.execution.arrow.maxBytesPerBatch": "1",
}
UNABLE = {
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.retainGroupColumns": "false",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "EXCEPTION",
    "spark.sql.parquet.int96RebaseModeInWrite": "EXCEPTION",
}
"""What queries of ours or of Delta, or a record with an old date, would not survive: runs refuse such a session."""
SETS = {"first": FIRST, "second": SECOND}
EACH = sorted({*FIRST.items(), *SECOND.items()} | {("spark.sql.execution.arrow.maxRecordsPerBatch", "0")})


@contextmanager
def under(session, settings):
    """Have a session with some settings, and afterwards with those that it had."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.unset(name)
            if value is not None and session.conf.get(name, None) != value:
                session.conf.set(name, value)
