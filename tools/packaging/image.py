#!/usr/bin/env python3
"""image.py - a folder with an OCI image layout of one layer, for the script `container`

usage: image.py ROOT OUTPUT-FOLDER SECONDS-SINCE-1970 VERSION ARCHITECTURE
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile

USER = 65532		# as images without a shell use it; not root
STORE = "store"
KEPT = {"copyright"}	# of usr/share/doc
DROPPED = ("usr/share/", "usr/lib/*/gconv/", "usr/lib/*/audit/", "usr/bin/", "usr/sbin/", "sbin/", "etc/")
PASSWD = f"root:x:0:0:root:/:/sbin/nologin\nbloomery:x:{USER}:{USER}:bloomery:/{STORE}:/sbin/nologin\n"


def wanted(path):
    """Is this file of a package part of the image?"""
    name = path.as_posix()
    if name == "usr/bin/bloomery" or path.name in KEPT and name.startswith("usr/share/doc/"):
        return True
    return not any(below(path, d) for d in DROPPED)


def below(path, folder):
    """Is the path below the folder, where * is one name?"""
    parts = folder.rstrip("/").split("/")
    return len(path.parts) > len(parts) and all(w in ("*", p) for w, p in zip(parts, path.parts))


def layer(root, when):
    """A tar of the wanted files, in the order of their names."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def put(name, kind, mode, data=b"", user=0, link=""):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.mtime, info.uid, info.gid = kind, mode, when, user, user
            info.size, info.linkname = len(data), link
            tar.addfile(info, io.BytesIO(data))

        files = [p for p in root.rglob("*") if (p.is_symlink() or p.is_file()) and wanted(p.relative_to(root))]
        folders = {parent for p in files for parent in p.relative_to(root).parents if parent.name}
        for path in sorted({p.relative_to(root) for p in files} | folders):
            at, name = root / path, path.as_posix()
            if path in folders:
                put(name, tarfile.DIRTYPE, 0o755)
            elif at.is_symlink():
                put(name, tarfile.SYMTYPE, 0o777, link=os.readlink(at))
            else:
                put(name, tarfile.REGTYPE, at.stat().st_mode & 0o777, at.read_bytes())
        put("etc", tarfile.DIRTYPE, 0o755)
        put("etc/passwd", tarfile.REGTYPE, 0o644, PASSWD.encode())
        put("tmp", tarfile.DIRTYPE, 0o1777)
        put(STORE, tarfile.DIRTYPE, 0o750, user=USER)
    return out.getvalue()


def main(root, out, when, version, architecture):
    blobs = out / "blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": "sha256:" + digest, "size": len(data)}

    def text(value):
        return json.dumps(value, indent=1).encode()

    tar = layer(root, when)
    print(f"{len(tar) // 1000} kB unpacked")
    packed = blob(gzip.compress(tar, 9, mtime=0), "layer.v1.tar+gzip")
    config = blob(text({
        "architecture": architecture, "os": "linux",
        "config": {"Entrypoint": ["/usr/bin/bloomery"], "Cmd": ["help"], "Env": ["BLOOMERY_STORE=/" + STORE],
                   "User": f"{USER}:{USER}", "WorkingDir": "/" + STORE, "Volumes": {"/" + STORE: {}},
                   "Labels": {"org.opencontainers.image.title": "bloomery", "org.opencontainers.image.version": version,
                              "org.opencontainers.image.licenses": "MIT"}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest()]}}), "config.v1+json")
    manifest = blob(text({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
                          "layers": [packed]}), "manifest.v1+json")
    tag = version.replace("~", "-").replace("+", "-")
    manifest["annotations"] = {"io.containerd.image.name": "docker.io/library/bloomery:latest",
                               "org.opencontainers.image.ref.name": "latest"}
    (out / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (out / "index.json").write_bytes(text({"schemaVersion": 2, "manifests": [manifest]}))
    # what docker load reads that does not know OCI
    (out / "manifest.json").write_bytes(text([{
        "Config": "blobs/sha256/" + config["digest"][7:], "RepoTags": ["bloomery:latest", "bloomery:" + tag],
        "Layers": ["blobs/sha256/" + packed["digest"][7:]]}]))


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
