"""Key Vault of Azure and Cloud KMS of Google, as far as the drivers of confluent-kafka need them, on this machine.

The drivers run as they are. They find these servers by settings that are open to every user: variables of the
environment, and the address of a key.
"""

import base64
import json
import socket
import ssl
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import trustme
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

HOST = "127.0.0.1"
VERSION = "0123456789abcdef0123456789abcdef"
AZURE_SECRET = "the secret of Azure's client"
_OAEP = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)


def _number(number):
    return _text(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _data(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class KeyVault(ThreadingHTTPServer):
    """A vault with the RSA key ``people``, and the tokens of its authority, which behaves like AD FS: other authorities
    are looked up in the internet.

    Args:
        authority: A ``trustme.CA``, which signs the server's certificate.
    """

    def __init__(self, authority):
        super().__init__((HOST, 0), _KeyVaultHandler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(HOST).configure_cert(context)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.key = rsa.generate_private_key(65537, 2048)
        self.place = f"{HOST}:{self.server_port}"
        self.key_id = f"https://{self.place}/keys/people/{VERSION}"
        self.asked = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class _KeyVaultHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = self._path()
        if path.endswith("/.well-known/openid-configuration"):
            root = f"https://{self.server.place}/adfs"
            self._answer(200, {"issuer": root, "token_endpoint": f"{root}/token", "authorization_endpoint": root})
        elif self._may():
            numbers = self.server.key.public_key().public_numbers()
            key = {"kid": self.server.key_id, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
            key["key_ops"] = ["encrypt", "decrypt"]
            self._answer(200, {"key": key, "attributes": {"enabled": True}})

    def do_POST(self):
        path = self._path()
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if path == "/adfs/token":
            known = parse_qs(body)["client_secret"] == [AZURE_SECRET]
            token = {"access_token": "a token", "token_type": "Bearer", "expires_in": 3600}
            self._answer(200 if known else 401, token if known else {"error": "invalid_client"})
        elif self._may():
            asked = json.loads(body)
            assert asked["alg"] == "RSA-OAEP-256"
            change = self._encrypted if path.endswith("/encrypt") else self._decrypted
            self._answer(200, {"kid": self.server.key_id, "value": _text(change(_data(asked["value"])))})

    def _encrypted(self, data):
        return self.server.key.public_key().encrypt(data, _OAEP)

    def _decrypted(self, data):
        return self.server.key.decrypt(data, _OAEP)

    def _path(self):
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        return path

    def _may(self):
        """Returns whether the request has a token. If it has none, answers with the place where tokens are."""
        if self.headers["Authorization"] == "Bearer a token":
            return True
        resource = self.server.place.partition(".")[2]  # the client wants a domain of which the vault is a part
        where = f'Bearer authorization="https://{self.server.place}/adfs", resource="https://{resource}"'
        self._answer(401, {"error": {"code": "Unauthorized"}}, {"WWW-Authenticate": where})
        return False

    def _answer(self, status, data, headers=()):
        body = json.dumps(data).encode()
        self.send_response(status)
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Silent."""


GOOGLE = "cloudkms.googleapis.com"


class GoogleKms:
    """The service of ``cloudkms.googleapis.com``, behind a proxy that leads the client here.

    Args:
        authority: A ``trustme.CA``, which signs the server's certificate.

    Attributes:
        proxy: The address of the proxy.
        asked: The names of the keys that somebody has asked for.
        tokens: The headers ``authorization`` of the requests.
    """

    def __init__(self, authority):
        import grpc
        from google.cloud.kms_v1.types import service

        self.cipher, self.asked, self.tokens = Fernet(Fernet.generate_key()), [], set()
        self.types = service
        names = {"Encrypt": self._encrypt, "Decrypt": self._decrypt}
        handlers = {}
        for name, answer in names.items():
            request, response = getattr(service, f"{name}Request"), getattr(service, f"{name}Response")
            handlers[name] = grpc.unary_unary_rpc_method_handler(answer, request.deserialize, response.serialize)
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        generic = grpc.method_handlers_generic_handler("google.cloud.kms.v1.KeyManagementService", handlers)
        self.server.add_generic_rpc_handlers((generic,))
        certificate = authority.issue_cert(GOOGLE)
        chain = b"".join(part.bytes() for part in certificate.cert_chain_pems)
        credentials = grpc.ssl_server_credentials(((certificate.private_key_pem.bytes(), chain),))
        self.port = self.server.add_secure_port(f"{HOST}:0", credentials)
        self.server.start()
        self.listener = socket.create_server((HOST, 0))
        self.proxy = f"http://{HOST}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._connections, daemon=True).start()

    def stop(self):
        self.listener.close()
        self.server.stop(None)

    def _encrypt(self, request, context):
        self._note(request, context)
        return self.types.EncryptResponse(name=request.name, ciphertext=self.cipher.encrypt(request.plaintext))

    def _decrypt(self, request, context):
        import grpc

        self._note(request, context)
        try:
            return self.types.DecryptResponse(plaintext=self.cipher.decrypt(request.ciphertext))
        except InvalidToken:
            return context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not mine")

    def _note(self, request, context):
        self.asked.append(request.name)
        self.tokens.add(dict(context.invocation_metadata()).get("authorization"))

    def _connections(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._tunnel, args=(client,), daemon=True).start()

    def _tunnel(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        assert head.startswith(f"CONNECT {GOOGLE}:443 ".encode()), head
        server = socket.create_connection((HOST, self.port))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=_copy, args=(server, client), daemon=True).start()
        _copy(client, server)


def _copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side has closed


def claims(token):
    """Returns the claims of a token that the client of a service account has signed itself."""
    return json.loads(_data(token.removeprefix("Bearer ").split(".")[1]))


def private_key():
    """Returns a private key of a service account, in PEM."""
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def trusted_file(authority, folder):
    """Writes the certificate of an authority into a file, and returns its path."""
    path = folder / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return str(path)


def new_authority():
    return trustme.CA()
