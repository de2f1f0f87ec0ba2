"""Translates options for Kafka's Java clients into options for librdkafka, the library behind this package's Kafka
client.
"""

import re
from collections.abc import Mapping

from dagster_smt.errors import ConfigError, Problem

_SAME = (
    *("security.protocol", "sasl.mechanism", "client.id", "client.rack", "ssl.key.password", "ssl.cipher.suites"),
    *("sasl.kerberos.service.name", "reconnect.backoff.ms", "reconnect.backoff.max.ms", "metadata.max.age.ms"),
    *("sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url", "client.dns.lookup"),
)
_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
# a pair such as username="u" in a JAAS line: the value is in double quotes (with escapes), in single quotes, or ends
# before a space or semicolon
_JAAS = re.compile(r"""(\w[\w.]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;]+))""")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")


def client_config(options: Mapping[str, str], own: Mapping[str, str], servers: str) -> dict[str, str]:
    """Returns the configuration of a librdkafka client. The configuration contains secrets, so do not show it.

    Args:
        options: Options for Kafka's Java clients, without Spark's prefix.
        own: Options of librdkafka, which take precedence.
        servers: Bootstrap servers.

    Raises:
        ConfigError: SMT583, librdkafka has no equivalent of an option.
    """
    config = {"bootstrap.servers": servers}
    for name in _SAME:
        if name in options:
            config[name] = options[name]
    for key, name in _RENAMED.items():
        if key in options:
            config[name] = options[key]
    # in Java's clients, an empty string switches the check of host names off; librdkafka's word for this is none
    if "ssl.endpoint.identification.algorithm" in options:
        config["ssl.endpoint.identification.algorithm"] = options["ssl.endpoint.identification.algorithm"] or "none"
    problems = [*_stores(options, own, config), *_sasl(options, own, config)]
    if problems:
        raise ConfigError(problems)
    return {**config, **own}


def _stores(options: Mapping[str, str], own: Mapping[str, str], config: dict[str, str]) -> list[Problem]:
    """Adds the settings for key stores and trust stores to ``config``. Returns a problem for a store that librdkafka
    cannot read, such as a JKS file. librdkafka reads PEM files, and key stores in PKCS#12 files.
    """
    problems = []
    if place := options.get("ssl.truststore.location", ""):
        # JKS is the default of Java's clients
        if options.get("ssl.truststore.type", "JKS").upper() == "PEM":
            config["ssl.ca.location"] = place
        elif "ssl.ca.location" not in own and "ssl.ca.pem" not in own:
            hint = "use a PEM file (ssl.truststore.type PEM), or name one as ssl.ca.location in client_options"
            problems.append(_no_form("ssl.truststore.location", "only Java reads this kind of store", hint))
    if place := options.get("ssl.keystore.location", ""):
        kind = options.get("ssl.keystore.type", "JKS").upper()
        if kind == "PEM":
            # in Java, one PEM file contains the key and the certificates (KIP-651)
            config |= {"ssl.certificate.location": place, "ssl.key.location": place}
        elif kind == "PKCS12":
            config |= {
                "ssl.keystore.location": place,
                "ssl.keystore.password": options.get("ssl.keystore.password", ""),
            }
        elif "ssl.certificate.location" not in own and "ssl.keystore.location" not in own:
            hint = "use PEM or PKCS12 (ssl.keystore.type), or name ssl.certificate.location and ssl.key.location"
            problems.append(_no_form("ssl.keystore.location", "only Java reads this kind of store", hint))
    return problems


def _sasl(options: Mapping[str, str], own: Mapping[str, str], config: dict[str, str]) -> list[Problem]:
    """Reads the user and the password from the JAAS line of the login module, and adds them to ``config``. Returns the
    problems.
    """
    if not options.get("security.protocol", "").upper().startswith("SASL"):
        return []
    # GSSAPI is the default of Java's clients
    mechanism = options.get("sasl.mechanism", "GSSAPI").upper()
    has_own = any(name.startswith("sasl.") for name in own)
    if mechanism not in _MECHANISMS and not has_own:
        hint = f"it knows {', '.join(_MECHANISMS)}; name another way in with client_options"
        return [_no_form("sasl.mechanism", "the client that lists topics does not know this mechanism", hint)]
    line = options.get("sasl.jaas.config", "")
    values = {}
    for name, a, b, c in _JAAS.findall(line):
        values[name] = a or b or c
    if mechanism == "OAUTHBEARER":
        # only with this method, librdkafka itself requests tokens from the URL
        config |= {"sasl.oauthbearer.method": "oidc"} if "sasl.oauthbearer.token.endpoint.url" in config else {}
        names = {"clientId": "sasl.oauthbearer.client.id", "clientSecret": "sasl.oauthbearer.client.secret"}
    else:
        names = {"username": "sasl.username", "password": "sasl.password"}
    # Kerberos needs no user and password; for other mechanisms, `own` may contain them instead of the JAAS line
    if mechanism == "GSSAPI" or has_own:
        return []
    lacking = [name for name in names if name not in values]
    if lacking:
        hint = 'write …PlainLoginModule required username="…" password="${env:NAME}";'
        return [_no_form("sasl.jaas.config", f"names no {' and no '.join(lacking)}", hint)]
    for name, ours in names.items():
        # removes the backslash of each escape, such as \" in a quoted value
        config[ours] = re.sub(r"\\(.)", r"\1", values[name])
    return []


def _no_form(option: str, statement: str, hint: str) -> Problem:
    return Problem("SMT583", f"KafkaTopics options kafka.{option}", statement, hint)
