#!/usr/bin/env python3
"""A directory by WebHDFS, as HDFS's own HTTP interface answers a reader: name node and data node in one, on loopback.

usage: web_hdfs.py DIR     prints its port; ends with its standard input
"""
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote_to_bytes, urlsplit

ROOT, PREFIX = os.path.realpath(sys.argv[1]), "/webhdfs/v1"


def status_of(path, name):
    s = os.stat(path)
    folder = os.path.isdir(path)
    return {"pathSuffix": name, "type": "DIRECTORY" if folder else "FILE", "length": 0 if folder else s.st_size, "owner": "hdfs", "group": "hdfs",
            "permission": "755", "accessTime": 0, "modificationTime": s.st_mtime_ns // 1000000, "blockSize": 1 << 20, "replication": 1,
            "fileId": s.st_ino, "childrenNum": 0, "storagePolicy": 0}


class Answer(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def say(self, code, body, kind="application/json", **headers):
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        at = urlsplit(self.path)
        words = {name.lower(): values[0] for name, values in parse_qs(at.query).items()}
        path = os.path.join(ROOT, os.fsdecode(unquote_to_bytes(at.path.encode("latin-1")))[len(PREFIX):].strip("/"))
        op = words["op"].upper()
        if not os.path.exists(path):
            return self.say(404, json.dumps({"RemoteException": {
                "exception": "FileNotFoundException", "javaClassName": "java.io.FileNotFoundException", "message": "no " + at.path}}).encode())
        if op == "GETFILESTATUS":
            return self.say(200, json.dumps({"FileStatus": status_of(path, "")}).encode())
        if op == "LISTSTATUS":
            below = [("", path)] if os.path.isfile(path) else [(name, os.path.join(path, name)) for name in os.listdir(path)]
            return self.say(200, json.dumps({"FileStatuses": {"FileStatus": [status_of(p, name) for name, p in below]}}).encode())
        if op == "GET_BLOCK_LOCATIONS":  # no host has any
            return self.say(200, json.dumps({"LocatedBlocks": {
                "fileLength": os.path.getsize(path), "isUnderConstruction": False, "isLastBlockComplete": True, "locatedBlocks": [],
                "lastLocatedBlock": None}}).encode())
        if op == "OPEN" and "datanode" not in words:
            return self.say(307, b"", Location=f"http://{self.headers['Host']}{quote(self.path.encode('latin-1'), '/%?&=')}&datanode=1")
        if op == "OPEN":
            with open(path, "rb") as file:
                file.seek(int(words.get("offset", 0)))
                return self.say(200, file.read(int(words.get("length", -1))), "application/octet-stream")
        self.say(400, json.dumps({"RemoteException": {
            "exception": "UnsupportedOperationException", "javaClassName": "java.lang.UnsupportedOperationException", "message": op}}).encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
