"""Played services of platforms: they check what they are asked, and start each driver as a process on this machine."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import botocore.session
import pyspark
from botocore.validate import ParamValidator

ROOT = Path(__file__).parents[2]
SPARK_SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
FAILED = "FAILED"


class Machine:
    """A machine that runs drivers: a folder with the code location, the scripts, and the variables of its processes."""

    def __init__(self, folder: Path, conf: dict[str, str]):
        self.folder, self.conf, self.started = folder, conf, []

    def file(self, address: str) -> Path:
        """The local copy of a script in an object store or an image."""
        return self.folder / "scripts" / Path(address).name

    def start(self, command: list[str], variables: dict[str, str] | None = None) -> subprocess.Popen:
        """Starts a driver. The session of the platform has the settings of this machine."""
        settings = [f"--conf {name}={value}" for name, value in self.conf.items()]
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(ROOT)]),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": " ".join([*settings, "pyspark-shell"]),
            **(variables or {}),
        }
        log = (self.folder / f"driver-{len(self.started)}.log").open("wb")
        process = subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log)
        self.started.append(process)
        return process

    def submit(self, command: list[str], variables: dict[str, str] | None = None, **settings: str) -> subprocess.Popen:
        """Starts a command of ``spark-submit`` that names its script by an address of the platform."""
        program, *options, script = command
        assert program.endswith("spark-submit")
        own = [part for name, value in {**self.conf, **settings}.items() for part in ("--conf", f"{name}={value}")]
        return self.start([SPARK_SUBMIT, *options, *own, str(self.file(script))], variables)

    def log(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("driver-*.log")))


class AwsClient:
    """A client of an AWS service: it accepts the parameters that AWS' SDK accepts."""

    service = ""
    meta = SimpleNamespace(region_name="eu-west-1")

    def __init__(self, machine: Machine):
        self.machine, self.process = machine, None
        self.model = botocore.session.get_session().get_service_model(self.service)

    def check(self, operation: str, params: dict) -> None:
        """Refuses parameters as the SDK does: with ``report.generate_report()``."""
        report = ParamValidator().validate(params, self.model.operation_model(operation).input_shape)
        assert not report.has_errors(), report.generate_report()

    def state(self, success: str, running: str) -> str:
        code = self.process.poll()
        if code is None:
            return running
        return success if code == 0 else FAILED


class Emr(AwsClient):
    service = "emr"

    def run_job_flow(self, **params):
        self.check("RunJobFlow", params)
        (step,) = params["Steps"]
        variables = {}
        for entry in params["Configurations"]:
            for export in entry.get("Configurations", []):
                variables |= export["Properties"]
        # without a cluster, the master's address is this machine
        self.process = self.machine.submit(step["HadoopJarStep"]["Args"], variables, **{"spark.master": "local[2]"})
        return {"JobFlowId": "j-1"}

    def describe_cluster(self, ClusterId):
        return {"Cluster": {"Id": ClusterId, "Status": {"State": self.state("TERMINATED", "RUNNING")}}}

    def list_steps(self, ClusterId):
        return {"Steps": []}

    def get_waiter(self, name):
        return self

    def wait(self, ClusterId):
        self.process.wait()


class EmrServerless(AwsClient):
    service = "emr-serverless"

    def start_job_run(self, **params):
        params["clientToken"] = "1"  # the SDK adds one
        self.check("StartJobRun", params)
        submit = params["jobDriver"]["sparkSubmit"]
        parameters = shlex.split(submit["sparkSubmitParameters"])
        conf, variables = {}, {}
        for name, value in (text.split("=", 1) for text in parameters[1::2]):
            prefix, _, variable = name.rpartition(".")
            if prefix == "spark.emr-serverless.driverEnv":
                variables[variable] = value
            elif name != "spark.archives":  # the folder of the process has the environment already
                conf[name] = value
        options = [part for pair in conf.items() for part in ("--conf", "=".join(pair))]
        command = ["spark-submit", *options, submit["entryPoint"]]
        self.process = self.machine.submit(command, variables, **{"spark.master": "local[2]"})
        return {"applicationId": params["applicationId"], "jobRunId": "1"}

    def get_job_run(self, applicationId, jobRunId):
        state = self.state("SUCCESS", "RUNNING")
        return {"jobRun": {"state": state, "stateDetails": "", "applicationId": applicationId, "jobRunId": jobRunId}}

    def get_dashboard_for_job_run(self, **_):
        return {"url": "http://127.0.0.1"}


class Glue(AwsClient):
    service = "glue"
    jobs: ClassVar[dict[str, dict]] = {}

    def create_job(self, **params):
        self.check("CreateJob", params)
        self.jobs[params["Name"]] = params

    def start_job_run(self, **params):
        self.check("StartJobRun", params)
        job = self.jobs[params["JobName"]]
        arguments = [part for pair in params["Arguments"].items() for part in pair]
        script = self.machine.file(job["Command"]["ScriptLocation"])
        self.process = self.machine.start([sys.executable, str(script), *arguments])
        return {"JobRunId": "1"}

    def get_job_run(self, JobName, RunId):
        return {"JobRun": {"Id": RunId, "JobName": JobName, "JobRunState": self.state("SUCCEEDED", "RUNNING")}}


AWS = {one.service: one for one in (Emr, EmrServerless, Glue)}


class Databricks(ThreadingHTTPServer):
    """A workspace: files of volumes are files of this machine, and a run of a job is a process."""

    daemon_threads = True

    def __init__(self, machine: Machine):
        super().__init__(("127.0.0.1", 0), DatabricksHandler)
        self.machine, self.process = machine, None
        threading.Thread(target=self.serve_forever, daemon=True).start()


class DatabricksHandler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status=200, data=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def place(self, kind: str) -> Path | None:
        path = unquote(urlsplit(self.path).path)
        prefix = f"/api/2.0/fs/{kind}"
        return Path(path[len(prefix) :]) if path.startswith(prefix) else None

    def do_PUT(self):
        data = self.body()
        if folder := self.place("directories"):
            folder.mkdir(parents=True, exist_ok=True)
        else:
            self.place("files").write_bytes(data)
        self.answer(204)

    def do_DELETE(self):
        shutil.rmtree(self.place("directories") or "", ignore_errors=True)
        if file := self.place("files"):
            file.unlink()
        self.answer(204)

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path.endswith("/jobs/runs/get"):
            return self.json(self.run(int(parse_qs(url.query)["run_id"][0])))
        if folder := self.place("directories"):
            entries = [{"path": str(p), "name": p.name, "is_directory": p.is_dir()} for p in folder.iterdir()]
            return self.json({"contents": entries})
        file = self.place("files")
        if file is None or not file.is_file():
            missing = {"error_code": "NOT_FOUND", "message": "no such file"}
            return self.answer(404, json.dumps(missing).encode(), **{"Content-Type": "application/json"})
        changed = datetime.fromtimestamp(0, timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        return self.answer(200, file.read_bytes(), **{"Last-Modified": changed})

    def do_POST(self):
        body = json.loads(self.body())
        assert self.path.endswith("/jobs/runs/submit"), self.path
        (task,) = body["tasks"]
        machine = self.server.machine
        script = machine.file(task["spark_python_task"]["python_file"])
        variables = task["new_cluster"]["spark_env_vars"]
        self.server.process = machine.start([sys.executable, str(script)], variables)
        self.json({"run_id": 7})

    def run(self, number):
        code = self.server.process.poll()
        state = {"life_cycle_state": "RUNNING"}
        if code is not None:
            state = {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS" if code == 0 else FAILED}
        return {"run_id": number, "state": state}

    def json(self, value):
        self.answer(200, json.dumps(value).encode(), **{"Content-Type": "application/json"})


class FolderBucket:
    """Takes the place of a client of Cloud Storage: buckets are folders below the variable BUCKETS."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder or Path(os.environ["BUCKETS"])

    def get_bucket(self, name):
        return FolderBucket(self.folder / name)

    def blob(self, key):
        return FolderBucket(self.folder / key)

    def exists(self):
        return self.folder.is_file()

    def upload_from_string(self, text):
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        partly = self.folder.with_suffix(".part")
        partly.write_bytes(text.encode() if isinstance(text, str) else text)
        partly.rename(self.folder)

    def download_as_bytes(self):
        if not self.folder.is_file():
            from google.api_core.exceptions import NotFound

            raise NotFound("no such object")
        return self.folder.read_bytes()


def run_with_folders(script: str, arguments: list[str]) -> None:
    """Runs a driver whose Cloud Storage is a folder: ``python -m tests.platforms.services SCRIPT ARGUMENTS``."""
    import runpy

    from google.cloud import storage

    storage.Client = FolderBucket
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


class Dataproc:
    """A controller of jobs, which starts one as a process."""

    def __init__(self, machine: Machine, client_options: dict[str, str]):
        assert client_options["api_endpoint"].endswith("-dataproc.googleapis.com:443")
        self.machine = machine

    def submit_job(self, project_id, region, job):
        from google.cloud.dataproc_v1 import Job

        copy = Job.deserialize(Job.serialize(job))  # as it goes over the wire
        pyspark_job = copy.pyspark_job
        self.machine.conf = {**dict(pyspark_job.properties), **self.machine.conf}
        script = self.machine.file(pyspark_job.main_python_file_uri)
        command = [sys.executable, "-m", "tests.platforms.services", str(script), *pyspark_job.args]
        self.process = self.machine.start(command)
        copy.job_uuid = "1"
        return copy

    def get_job(self, job_id, project_id, region):
        from google.cloud.dataproc_v1 import Job, JobStatus

        code = self.process.poll()
        if code is None:
            return Job(job_uuid=job_id)
        state = JobStatus.State.DONE if code == 0 else JobStatus.State.ERROR
        return Job(job_uuid=job_id, done=True, status=JobStatus(state=state))


class Pods:
    """The part of the API of Kubernetes that ``PipesK8sClient`` uses: a pod is a process."""

    def __init__(self, machine: Machine):
        self.machine, self.core_api = machine, self

    def create_namespaced_pod(self, namespace, pod):
        (container,) = pod.spec.containers
        self.process = self.machine.submit(container.command, variables_of([one.to_dict() for one in container.env]))

    def delete_namespaced_pod(self, name, namespace):
        assert self.process.poll() is not None

    def wait_for_pod(self, *_, **__):
        return True

    def read_namespaced_pod_log(self, *_, **__):
        self.process.wait()
        lines = self.machine.log().splitlines(keepends=True)
        return [f"2026-01-01T00:00:00.{number:09d}Z {line}".encode() for number, line in enumerate(lines)]


class Applications:
    """The Spark operator: an application is a process."""

    def __init__(self, machine: Machine):
        self.machine, self.deleted = machine, []

    def create_namespaced_custom_object(self, group, version, namespace, plural, body):
        assert f"{group}/{version}" == body["apiVersion"]
        spec = json.loads(json.dumps(body["spec"]))
        self.machine.conf = {**spec["sparkConf"], **self.machine.conf}
        script = self.machine.file(spec["mainApplicationFile"])
        self.process = self.machine.start([sys.executable, str(script)], variables_of(spec["driver"]["env"]))

    def get_namespaced_custom_object(self, group, version, namespace, plural, name):
        code = self.process.poll()
        if code is None:
            return {}
        return {"status": {"applicationState": {"state": "COMPLETED" if code == 0 else FAILED}}}

    def delete_namespaced_custom_object(self, group, version, namespace, plural, name):
        self.deleted.append(name)


def variables_of(env: list[dict]) -> dict[str, str]:
    """The variables of a container; a secret is that of a played cluster."""
    return {one["name"]: one.get("value") or "secret" for one in env}


if __name__ == "__main__":
    run_with_folders(sys.argv[1], sys.argv[2:])
