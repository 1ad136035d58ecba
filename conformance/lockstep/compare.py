"""Compares generated courses on both servers, as many as wanted:

    PERENNIAL_BIN=… python conformance/lockstep/compare.py activities --courses 200 --seed 7
"""

import argparse
import asyncio
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import activity_courses  # noqa: E402
import workflow_courses  # noqa: E402
from comparing import both_servers, differences  # noqa: E402

KINDS = {"activities": (activity_courses, 40), "workflows": (workflow_courses, 4)}


async def compare(kind: str, seed: int, count: int) -> int:
    module, at_once = KINDS[kind]
    rng = random.Random(seed)
    courses = [module.course(rng) for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        async with both_servers(pathlib.Path(folder)) as clients:
            found = await differences(clients, module.take, courses, at_once)
    print("\n".join(found))
    print(f"{kind}, seed {seed}: {len(found)} of {count} courses differ")
    return 1 if found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare generated courses on both servers")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--courses", type=int, default=100)
    options = parser.parse_args()
    sys.exit(asyncio.run(compare(options.kind, options.seed, options.courses)))
