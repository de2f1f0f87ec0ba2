"""Data keys of AWS, Azure, Google Cloud and HashiCorp Vault, through confluent-kafka's own drivers.

The server of AWS is moto's. Those of Azure, Google Cloud and Vault are small ones of ours, which the drivers find by
settings of the environment.
"""

import base64
import json
import threading
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.rules.encryption.kms_driver_registry import register_kms_driver
from confluent_kafka.serialization import MessageField, SerializationContext
from cryptography.fernet import Fernet

from dagster_smt.errors import DataError, EngineError
from dagster_smt.formats.registry.wire import RegistryReader, RegistryWriter
from dagster_smt.model.schema import INT64, STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from tests.interpret.clouds import (
    AZURE_SECRET,
    GoogleKms,
    KeyVault,
    claims,
    new_authority,
    private_key,
    trusted_file,
)
from tests.interpret.test_encrypted_fields import ADA, CONTEXT, executors, registered
from tests.registry import Registry

pytestmark = pytest.mark.long
RULES = "needs confluent-kafka[rules]"
TOKEN = "the token of Vault"
PROCESS, OPTIONS = "process@project.example", "options@project.example"


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


class Vault(ThreadingHTTPServer):
    """The two requests of Vault's transit engine that encrypt and decrypt, for those who have the token."""

    def __init__(self):
        self.cipher, self.asked = Fernet(Fernet.generate_key()), []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.asked.append(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["X-Vault-Token"] != TOKEN:
            self._answer(403, {"errors": ["permission denied"]})
        elif self.path == "/v1/transit/encrypt/people":
            sealed = self.server.cipher.encrypt(base64.b64decode(body["plaintext"])).decode()
            self._answer(200, {"data": {"ciphertext": f"vault:v1:{sealed}"}})
        elif self.path == "/v1/transit/decrypt/people":
            plain = self.server.cipher.decrypt(body["ciphertext"].removeprefix("vault:v1:").encode())
            self._answer(200, {"data": {"plaintext": base64.b64encode(plain).decode()}})
        else:
            self._answer(404, {"errors": []})

    do_PUT = do_POST

    def _answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Silent."""


@pytest.fixture
def vault(monkeypatch):
    """Returns the type of the service, the name of the key, the client's options, and ours."""
    pytest.importorskip("hvac")
    from confluent_kafka.schema_registry.rules.encryption.hcvault.hcvault_driver import HcVaultKmsDriver

    register_kms_driver(HcVaultKmsDriver())
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    monkeypatch.setenv("NO_TOKEN", "another token")
    server = Vault()
    address = f"http://127.0.0.1:{server.server_port}/transit/keys/"
    yield "hcvault", f"{address}people", {"token.id": TOKEN}, {"kms.token.id": "${env:OUR_TOKEN}"}
    server.shutdown()
    server.server_close()


@pytest.fixture
def aws(monkeypatch):
    import boto3
    from confluent_kafka.schema_registry.rules.encryption.awskms.aws_driver import AwsKmsDriver
    from moto.server import ThreadedMotoServer

    register_kms_driver(AwsKmsDriver())
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", f"http://{host}:{port}")
    monkeypatch.setenv("OUR_KEY", "key")
    monkeypatch.setenv("OUR_SECRET", "secret")
    names = {"access.key.id": "key", "secret.access.key": "secret"}
    client = boto3.client("kms", "eu-north-1", aws_access_key_id="key", aws_secret_access_key="secret")
    arn = client.create_key()["KeyMetadata"]["Arn"]
    ours = {"kms.access.key.id": "${env:OUR_KEY}", "kms.secret.access.key": "${env:OUR_SECRET}"}
    yield "aws-kms", arn, names, ours
    server.stop()


@pytest.fixture
def azure(monkeypatch, tmp_path):
    pytest.importorskip("azure.keyvault.keys", reason=RULES)
    from confluent_kafka.schema_registry.rules.encryption.azurekms.azure_driver import AzureKmsDriver

    register_kms_driver(AzureKmsDriver())
    authority = new_authority()
    server = KeyVault(authority)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", trusted_file(authority, tmp_path))
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", server.place)
    monkeypatch.setenv("OUR_SECRET", AZURE_SECRET)
    names = {"tenant.id": "adfs", "client.id": "us", "client.secret": AZURE_SECRET}
    ours = {"kms.tenant.id": "adfs", "kms.client.id": "us", "kms.client.secret": "${env:OUR_SECRET}"}
    yield "azure-kms", server.key_id, names, ours
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def google_kms(tmp_path_factory):
    """One server for all tests, since Google's client and Tink keep what they have read and whom they have reached."""
    pytest.importorskip("tink.integration.gcpkms", reason=RULES, exc_type=ImportError)
    folder, authority = tmp_path_factory.mktemp("google"), new_authority()
    server = GoogleKms(authority)
    account = {"type": "service_account", "client_id": "0", "client_email": PROCESS, "private_key_id": "0"}
    account |= {"private_key": private_key(), "token_uri": "https://oauth2.googleapis.com/token"}
    (folder / "account.json").write_text(json.dumps(account))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", trusted_file(authority, folder))
        patch.setenv("grpc_proxy", server.proxy)
        # The driver makes a client with the credentials of the process before it makes one with those of the options.
        patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "account.json"))
        yield server
    server.stop()


@pytest.fixture
def google(google_kms, monkeypatch):
    from confluent_kafka.schema_registry.rules.encryption.gcpkms.gcp_driver import GcpKmsDriver

    register_kms_driver(GcpKmsDriver())
    key = private_key()
    monkeypatch.setenv("OUR_KEY", key)
    monkeypatch.setenv("OUR_ID", "2")
    names = {"client.id": "1", "client.email": OPTIONS, "private.key.id": "2", "private.key": key}
    ours = {"kms.client.id": "1", "kms.client.email": OPTIONS}
    ours |= {"kms.private.key.id": "${env:OUR_ID}", "kms.private.key": "${env:OUR_KEY}"}
    yield "gcp-kms", "projects/p/locations/global/keyRings/r/cryptoKeys/people", names, ours
    assert {claims(token)["iss"] for token in google_kms.tokens} == {OPTIONS}


@pytest.fixture(params=["aws", "azure", "google", "vault"])
def service(request):
    return request.getfixturevalue(request.param)


def form_of(registry, service, **more):
    kind, name, _, options = service
    options = {"kms.keys": f"{kind}://{name}", **options, **more}
    return Format("avro-confluent", options={"url": registry.url, "rules": "open", **options})


def encrypted(registry, service):
    kind, name, conf, _ = service
    client, text = registered(registry, **{"encrypt.kms.type": kind, "encrypt.kms.key.id": name})
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    return AvroSerializer(client, text, conf=settings, rule_conf=conf, rule_registry=executors())(
        deepcopy(ADA), CONTEXT
    )


def test_what_a_producer_encrypted_is_opened(registry, service):
    data = encrypted(registry, service)
    assert b"ada@example.org" not in data
    opened = RegistryReader(form_of(registry, service)).read(data, "people")[1]
    assert (opened["mail"], opened["home"]) == (ADA["mail"], ADA["home"])


def test_a_key_that_is_not_allowed_is_not_asked_for(registry, service):
    data = encrypted(registry, service)
    with pytest.raises(DataError, match=r"SMT753 .*which kms.keys"):
        RegistryReader(form_of(registry, service, **{"kms.keys": "local-kms://"})).read(data, "people")


def test_a_consumer_opens_what_a_sink_encrypted(registry, service):
    kind, name, conf, _ = service
    person = {"type": "record", "name": "Person", "namespace": "shop", "fields": [
        {"name": "id", "type": "long"}, {"name": "mail", "type": "string", "confluent:tags": ["PII"]}]}  # fmt: skip
    encrypted(registry, service)  # the producer registers the key encryption key
    rule = {"encrypt.kms.type": kind, "encrypt.kms.key.id": name}
    registered(registry, subject="copies-value", schema=person, **rule)
    schema = Schema(Type.STRUCT, name="shop.Person", fields=(("id", INT64), ("mail", STRING)))
    writer = RegistryWriter(form_of(registry, service), "value")
    data = writer.write(schema, {"id": 7, "mail": "ada@example.org"}, "copies")
    assert b"ada@" not in data
    consumer = AvroDeserializer(SchemaRegistryClient({"url": registry.url}), rule_conf=conf, rule_registry=executors())
    assert consumer(data, SerializationContext("copies", MessageField.VALUE)) == {"id": 7, "mail": "ada@example.org"}


def test_without_the_token_the_run_ends(registry, vault):
    data = encrypted(registry, vault)
    with pytest.raises(EngineError, match=r"SMT736 the key people") as caught:
        RegistryReader(form_of(registry, vault, **{"kms.token.id": "${env:NO_TOKEN}"})).read(data, "people")
    assert TOKEN not in str(caught.value)


def test_google_without_credentials_of_the_process_ends_the_run(registry, google, monkeypatch):
    """The options alone do not suffice: docs/how-to/encrypted-fields.md says so."""
    data = encrypted(registry, google)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(EngineError, match=r"SMT736 the key people .*DefaultCredentialsError"):
        RegistryReader(form_of(registry, google)).read(data, "people")


def test_azure_with_another_secret_ends_the_run(registry, azure):
    data = encrypted(registry, azure)
    with pytest.raises(EngineError, match=r"SMT736 the key people .*ClientAuthenticationError") as caught:
        RegistryReader(form_of(registry, azure, **{"kms.client.id": "x", "kms.client.secret": "${env:PATH}"})).read(
            data, "people"
        )
    assert AZURE_SECRET not in str(caught.value)
