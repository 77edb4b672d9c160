#include "pipeline/session/pretrain.h"

#include <bit>
#include <cstring>

#include "pipeline/session/pretrained_file.h"
#include "pipeline/snapshot/rename.h"
#include "pipeline/snapshot/weights.h"
#include "pipeline/snapshot/weights_file.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/remote/remote.h"
#include "stages/group.h"

namespace flowtrain {

namespace {

// IEEE 754 binary16 to binary32; subnormals by their value, since a float holds every half exactly.
float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, exponent = (half >> 10) & 31u,
                      fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <class Stored, class Convert>
void convert(const TensorView& from, std::vector<std::byte>& to, Convert to_float) {
  for (std::size_t i = 0; i < from.bytes / sizeof(Stored); ++i) {
    Stored stored;
    std::memcpy(&stored, from.data + i * sizeof(Stored), sizeof stored);
    const float value = to_float(stored);
    std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
  }
}

void assign(const TensorView& from, StateTensor& to) {
  if (from.dtype == to.dtype) {
    std::memcpy(to.bytes.data(), from.data, from.bytes);
  } else if (to.dtype != "F32") {
    throw UserError(ExitCode::usage,
                    "'" + from.name + "' is " + from.dtype + " in the file, " + to.dtype + " in the net");
  } else if (from.dtype == "F64") {
    convert<double>(from, to.bytes, [](double value) { return static_cast<float>(value); });
  } else if (from.dtype == "F16") {
    convert<std::uint16_t>(from, to.bytes, half_to_float);
  } else {  // BF16: the upper half of a float
    convert<std::uint16_t>(from, to.bytes,
                           [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); });
  }
}

std::vector<TensorView> renamed(const WeightsFile& file, const Settings& net) {
  try {
    return Renaming(net.texts("pretrain_drop"), net.texts("pretrain_rename"))(file.tensors());
  } catch (const UserError& error) {
    throw net.error(net.given("pretrain_drop") ? "pretrain_drop" : "pretrain_rename", error.what(), error.code(),
                    error.hint());
  }
}

}  // namespace

void load_pretrained(Learner& learner, const Settings& net, Group& group, Interrupt* interrupt) {
  // Rank 0's, as it alone loads them.
  if (group.ask_leader("whether there are weights to begin with", [&] { return net.text("pretrain"); }).empty()) return;
  const auto kept = pretrained_file(net, group, interrupt);
  if (!group.leads()) return;
  const std::string path = public_name(net.text("pretrain"));
  const WeightsFile file(kept);

  LearnerState state;
  learner.copy_state(state);
  state.settle();
  std::vector<WantedTensor> wanted;
  for (auto& tensor : state.model) wanted.push_back({tensor.name, tensor.dtype, tensor.shape});
  const auto tensors = renamed(file, net);
  const WeightMatch match = match_weights(tensors, wanted);

  std::vector<std::string> parts;
  for (auto& [what, names] : {std::pair{"missing", &match.missing},
                              {"unexpected", &match.unexpected},
                              {"of another shape or type", &match.misshapen}})
    if (!names->empty()) parts.push_back(concat(what, ": ", join(*names)));
  const std::string differences = join(parts, "; ");
  if (net.boolean("strict") && !differences.empty())
    throw net.error("pretrain", path + " does not fit the net: " + differences, ExitCode::usage,
                    "net.strict = false takes what fits");
  if (match.matched.empty()) throw net.error("pretrain", path + " has no tensor of the net's names and shapes");

  for (auto& [index, source] : match.matched) assign(source, state.model[index]);
  learner.load_state(state);
  log_info(concat("weights from ", path, ": ", match.matched.size(), " of ", wanted.size(), " tensors"));
  if (!differences.empty()) log_warn(path + ": " + differences);
}

}  // namespace flowtrain
