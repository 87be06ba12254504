"""``torch.distributed.elastic.agent.server.local_elastic_agent``."""

from shim_torch._impl.surface.not_built import NO_AGENT, declare

declare(globals(), NO_AGENT, "LocalElasticAgent")
