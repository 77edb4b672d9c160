#pragma once
// From the configuration's [net] to what nets/ builds from.

#include "nets/models/net.h"
#include "sampling/core/settings.h"

namespace flowtrain {

/// All keys of [net] that make a net; the pictures' size is left out.
inline nets::NetSpec net_spec_of(const Settings& net, std::int64_t classes) {
  nets::NetSpec spec;
  spec.name = net.text("name");
  spec.script = net.text("script");
  spec.inputs = net.texts("inputs");
  spec.hidden = net.integers("hidden");
  spec.dropout = net.real("dropout");
  spec.stacks = net.integer("stacks");
  spec.stem = net.integers("stem");
  spec.widths = net.integers("widths");
  spec.blocks = net.integers("blocks");
  spec.classes = classes;
  return spec;
}

/// Which key of [net] chose it.
inline const char* net_key(const Settings& net) {
  if (!net.text("plugin").empty()) return "plugin";
  return net.text("script").empty() ? "name" : "script";
}

}  // namespace flowtrain
