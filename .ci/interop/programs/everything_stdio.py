"""The Python SDK's everything-server over stdio; its own command line has HTTP only."""

from mcp_everything_server.server import mcp

mcp.run("stdio")
