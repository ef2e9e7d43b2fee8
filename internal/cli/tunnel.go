package cli

import (
	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/tunnel"
)

// newTunnelServer is the upstream end of the tunnel to a downstream control
// plane; plimsoll starts it for a target.
func newTunnelServer(env Environment) *cobra.Command {
	var server tunnel.Server
	cmd := &cobra.Command{
		Use:     tunnel.ServerVerb,
		Short:   "Proxy to the Steve behind a tunnel",
		Hidden:  true,
		Example: "  plimsoll tunnel-server --listen 127.0.0.1:8443 --steve 127.0.0.1:9080 --agent-user agent --cert-file s.crt --key-file s.key --ca-file ca.crt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.interrupted("stopping")
			return server.Serve(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&server.Listen, "listen", "", "`host:port` to listen on")
	cmd.Flags().StringVar(&server.Steve, "steve", "", "`host:port` of Steve, for the agent to dial")
	cmd.Flags().StringVar(&server.AgentUser, "agent-user", "", "common `name` of the agent's certificate")
	registerIdentity(cmd, &server.Identity)
	return cmd
}

// newTunnelAgent is the downstream end.
func newTunnelAgent(env Environment) *cobra.Command {
	var agent tunnel.Agent
	cmd := &cobra.Command{
		Use:     tunnel.AgentVerb,
		Short:   "Keep a tunnel open to its server",
		Hidden:  true,
		Example: "  plimsoll tunnel-agent --server https://127.0.0.1:8443 --steve 127.0.0.1:9080 --cert-file a.crt --key-file a.key --ca-file ca.crt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.interrupted("stopping")
			return agent.Serve(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&agent.Server, "server", "", "`URL` of the server")
	cmd.Flags().StringVar(&agent.Steve, "steve", "", "`host:port` of Steve, and all that may be dialled")
	registerIdentity(cmd, &agent.Identity)
	return cmd
}

func registerIdentity(cmd *cobra.Command, identity *tunnel.Identity) {
	cmd.Flags().StringVar(&identity.Cert, "cert-file", "", "`file` with the certificate")
	cmd.Flags().StringVar(&identity.Key, "key-file", "", "`file` with its key")
	cmd.Flags().StringVar(&identity.CA, "ca-file", "", "`file` with the authority of the other end")
}
