#include "tests/parity/ops.h"

namespace flowtrain::parity {

Ops net_ops() { return {}; }

void print_names(const std::string& net, std::ostream&) { throw BadCall("--net " + net + ": no such net"); }
NamedTensors run_net(const NetCall& net, const Call&) { throw BadCall("--net " + net.net + ": no such net"); }

}  // namespace flowtrain::parity
