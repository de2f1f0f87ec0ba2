"""Foreign stages: transforms and predicates of Kafka Connect that run from their jars (decision 35).

A chain of Kafka Connect may have classes that this package does not have. With ``smt_jars`` such a class runs as it
is: a Java process of its own, the *host*, loads the class, and records travel to the process and back.

| module | contents |
|---|---|
| ``jars``, ``maven`` | from ``smt_jars`` to plug-ins, their jars and their classes |
| ``stages`` | foreign transforms and predicates as stages of a chain |
| ``host`` | the Java process |
| ``wire`` | records as bytes, both ways |
| ``segment`` | adjacent foreign stages, run on a batch of records |
| ``kafkas_classes`` | chains that need no process of their own, because all classes are Kafka's |
| ``check`` | options checked by the class's own ``ConfigDef`` |
"""
