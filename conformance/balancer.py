"""A TCP load balancer in front of the nodes of a cluster: each connection goes to a random node.

`python balancer.py PORT NODE_PORT …`, on loopback. A node that can't be reached is passed over.
"""

import asyncio
import contextlib
import random
import sys


async def main(port: int, nodes: list[int]):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        for node in random.sample(nodes, len(nodes)):
            with contextlib.suppress(OSError):
                node_reader, node_writer = await asyncio.open_connection("127.0.0.1", node)
                await asyncio.gather(pipe(reader, node_writer), pipe(node_reader, writer))
                return
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
