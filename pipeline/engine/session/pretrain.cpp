#include "pipeline/engine/session/pretrain.h"

#include <cstring>

#include "pipeline/base/snapshot/half.h"
#include "pipeline/base/snapshot/rename.h"
#include "pipeline/base/snapshot/weights.h"
#include "pipeline/base/snapshot/weights_file.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/pretrained_file.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/remote/remote.h"
#include "stages/core/group.h"

namespace flowtrain {

namespace {

template <class Stored>
void convert(const TensorView& from, std::vector<std::byte>& to) {
  for (std::size_t i = 0; i < from.bytes / sizeof(Stored); ++i) {
    Stored stored;
    std::memcpy(&stored, from.data + i * sizeof(Stored), sizeof stored);
    const auto value = static_cast<float>(stored);
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
    convert<double>(from, to.bytes);
  } else if (from.dtype == "F16") {
    convert<Float16>(from, to.bytes);
  } else {
    convert<BFloat16>(from, to.bytes);
  }
}

Renaming renaming_of(const Settings& net) { return {net.texts("pretrain_drop"), net.texts("pretrain_rename")}; }

std::vector<TensorView> renamed(std::span<const TensorView> tensors, const Settings& net) {
  try {
    return renaming_of(net)(tensors);
  } catch (const UserError& error) {
    throw net.error(net.given("pretrain_drop") ? "pretrain_drop" : "pretrain_rename", error.what(), error.code(),
                    error.hint());
  }
}

// Returns the dict of the file that has the most tensors of the net.
WeightsFile open_weights(const std::filesystem::path& kept, const Settings& net, std::span<const WantedTensor> wanted) {
  const auto fit = [&](std::span<const TensorView> tensors) {
    return match_weights(renaming_of(net)(tensors), wanted).matched.size();
  };
  try {
    return WeightsFile(kept, {.place = net.text("pretrain_key"), .fit = fit});
  } catch (const UserError& error) {
    throw net.error("pretrain", error.what(), error.code(), error.hint());
  }
}

// Returns the line of a config with which more names would fit; empty if there is none.
std::string rename_hint(std::span<const TensorView> tensors, std::span<const WantedTensor> wanted, std::size_t fit) {
  const NamePrefix prefix = name_prefix(tensors, wanted);
  if (prefix.fit <= fit) return "";
  return concat("with net.pretrain_rename = ['", prefix.rule(), "'] the names of ", prefix.fit, " tensors fit");
}

// Returns an example of names that do not match.
std::string no_match(const WeightMatch& match, std::span<const TensorView> tensors,
                     std::span<const WantedTensor> wanted) {
  if (!match.misshapen.empty()) return match.misshapen.front();
  const auto first = [](const auto& some) { return some.empty() ? std::string("nothing") : shown(some.front().name); };
  return concat("the file has ", first(tensors), " and ", tensors.size(), " tensors in all, the net ", first(wanted));
}

}  // namespace

void load_pretrained(Learner& learner, const Settings& net, Group& group, Interrupt* interrupt) {
  // Only rank 0 loads them.
  if (group.ask_leader("whether there are weights to begin with", [&] { return net.text("pretrain"); }).empty()) return;
  const auto kept = pretrained_file(net, group, interrupt);
  if (!group.leads()) return;
  const std::string path = public_name(net.text("pretrain"));

  LearnerState state;
  learner.copy_state(state);
  state.settle();
  std::vector<WantedTensor> wanted;
  for (auto& tensor : state.model) wanted.push_back({tensor.name, tensor.dtype, tensor.shape});
  const WeightsFile file = open_weights(kept, net, wanted);
  auto tensors = renamed(file.tensors(), net);
  try {
    fit_prefix(tensors, wanted);
  } catch (const UserError& error) {
    throw net.error("pretrain", concat(path, ": ", error.what()), error.code(), error.hint());
  }
  const WeightMatch match = match_weights(tensors, wanted);

  std::vector<std::string> parts;
  for (auto& [what, names] : {std::pair{"missing", &match.missing},
                              {"unexpected", &match.unexpected},
                              {"of another shape or type", &match.misshapen}})
    if (!names->empty()) parts.push_back(concat(what, ": ", join(*names)));
  const std::string differences = join(parts, "; "),
                    hint = rename_hint(tensors, wanted, match.matched.size() + match.misshapen.size());
  if (net.boolean("strict") && !differences.empty())
    throw net.error("pretrain", path + " does not fit the net: " + differences, ExitCode::usage,
                    hint.empty() ? "net.strict = false takes what fits" : hint);
  if (match.matched.empty())
    throw net.error("pretrain",
                    concat(path, " has no tensor of the net's names and shapes: ", no_match(match, tensors, wanted)),
                    ExitCode::usage, hint);

  for (auto& [index, source] : match.matched) assign(source, state.model[index]);
  learner.load_state(state);
  const std::string place = file.place() == "." ? "" : concat(", under ", shown(file.place()));
  log_info(concat("weights from ", path, place, ": ", match.matched.size(), " of ", wanted.size(), " tensors"));
  if (!differences.empty()) log_warn(concat(path, ": ", differences, hint.empty() ? "" : concat("; ", hint)));
}

}  // namespace flowtrain
