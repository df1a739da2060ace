umask 077
openssl rand -hex 32 > mcp.token
toolhost mcp --http 127.0.0.1:8787 --token-file mcp.token
