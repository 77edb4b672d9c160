#include "nets/package/description.h"

#include <torch/version.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sampling/core/mistake.h"
#include "sampling/core/text.h"

namespace flowtrain::nets {

namespace {

using nlohmann::json;

constexpr int known_version = 1;

PackageOutput::Kind kind_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, PackageOutput::Kind>, 4> kinds{
      {{"loss", PackageOutput::Kind::loss},
       {"metric", PackageOutput::Kind::metric},
       {"output", PackageOutput::Kind::output},
       {"gradient", PackageOutput::Kind::gradient}}};
  const auto* const found = std::ranges::find(kinds, name, &std::pair<std::string_view, PackageOutput::Kind>::first);
  if (found == kinds.end()) throw std::invalid_argument("an output has the unknown kind '" + name + "'");
  return found->second;
}

std::string text_or(const json& value, const std::string& otherwise) {
  return value.is_null() ? otherwise : value.get<std::string>();
}

PackageGraph read_graph(const json& from, const std::string& graph) {
  PackageGraph made;
  from.at("parameters").get_to(made.parameters);
  from.at("buffers").get_to(made.buffers);
  from.at("changed").get_to(made.changed);
  from.at("constants").get_to(made.constants);
  for (const json& output : from.at("outputs")) {
    made.outputs.push_back({output.at("name").get<std::string>(), kind_of(output.at("kind").get<std::string>()),
                            output.contains("of") ? text_or(output.at("of"), "") : "",
                            output.value("shape", std::vector<std::int64_t>())});
    if (const auto& kept = made.outputs.back(); kept.kind == PackageOutput::Kind::gradient &&
                                                std::ranges::find(made.parameters, kept.of) == made.parameters.end())
      throw std::invalid_argument("a gradient is of '" + kept.of + "', which is no parameter");
  }
  const auto losses = std::ranges::count(made.outputs, PackageOutput::Kind::loss, &PackageOutput::kind);
  if (losses != 1)
    throw std::invalid_argument(concat("the graph '", graph, "' has ", losses, " outputs of kind 'loss', expected 1"));
  return made;
}

PackageDescription read_json(const json& from) {
  PackageDescription made;
  from.at("torch").get_to(made.torch);
  from.at("device").get_to(made.device);
  from.at("instruction_set").get_to(made.instruction_set);
  made.amp = text_or(from.at("amp"), "off");
  from.at("command").get_to(made.command);
  for (const json& input : from.at("inputs")) {
    made.inputs.push_back({input.at("field").get<std::string>(), input.at("dtype").get<std::string>(),
                           input.at("shape").get<std::vector<std::int64_t>>()});
    if (made.inputs.back().shape.empty())
      throw std::invalid_argument("the input '" + made.inputs.back().name + "' has no dimension of rows");
  }
  made.train = read_graph(from.at("train"), "train");
  made.eval = read_graph(from.at("eval"), "eval");
  from.at("counters").get_to(made.counters);
  return made;
}

std::string shape_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const auto size : shape) sizes.push_back(size < 0 ? "any" : std::to_string(size));
  return "[" + join(sizes) + "]";
}

// "2.11.0+cpu" and "2.11.0" compute with the same interfaces.
std::string_view release(std::string_view version) { return version.substr(0, version.find('+')); }

// Each set has all of those before it. GPUs run code of their own version alone: from 9.0 on Triton compiles for
// features that the next version need not have (sm_90a).
bool runs_on(const std::string& needed, const std::string& machine) {
  constexpr std::array<std::string_view, 3> x86{"DEFAULT", "AVX2", "AVX512"};
  const auto* const wanted = std::ranges::find(x86, needed);
  const auto* const there = std::ranges::find(x86, machine);
  return wanted == x86.end() || there == x86.end() ? needed == machine : wanted <= there;
}

bool fits(const std::vector<std::int64_t>& wanted, const std::vector<std::int64_t>& shape) {
  return std::ranges::equal(wanted, shape, [](auto size, auto is) { return size < 0 || size == is; });
}

}  // namespace

PackageDescription read_description(const PackageArchive& archive) {
  const ArchiveRecord record = archive.read("extra/flowtrain.json");
  const std::string_view text(reinterpret_cast<const char*>(record.bytes().data()), record.bytes().size());
  try {
    const json from = json::parse(text);
    if (const auto version = from.at("version").get<std::int64_t>(); version != known_version)
      throw Mistake(
          archive.error(concat("it has version ", version, ", and this flowtrain reads version ", known_version))
              .what(),
          "make it anew with the Python package of this version");
    return read_json(from);
  } catch (const Mistake&) {
    throw;
  } catch (const std::exception& error) {  // json's, or those above
    throw archive.error(std::string("its flowtrain.json is damaged: ") + error.what());
  }
}

std::string make_anew(const PackageDescription& description) { return "make it anew: " + description.command; }

void check_version(const PackageDescription& description, const PackageArchive& archive) {
  if (release(description.torch) != release(TORCH_VERSION))
    throw Mistake(
        archive.error(concat("torch ", description.torch, " has compiled it, and this is LibTorch ", TORCH_VERSION))
            .what(),
        make_anew(description));
}

void check_machine(const PackageDescription& description, const std::string& capability,
                   const PackageArchive& archive) {
  if (runs_on(description.instruction_set, capability)) return;
  throw Mistake(archive
                    .error(concat("its code needs a ", description.device == "cpu" ? "CPU" : "GPU", " with ",
                                  description.instruction_set, ", and this one has ", capability))
                    .what(),
                make_anew(description));
}

void check_inputs(const PackageDescription& description, const std::vector<BatchField>& batch,
                  const PackageArchive& archive) {
  for (const auto& [name, dtype, shape] : description.inputs) {
    const auto found = std::ranges::find(batch, name, &BatchField::name);
    if (found == batch.end())
      throw archive.error(concat("the batch has no '", name,
                                 "', which the graph takes; it has: ", join(batch, ", ", &BatchField::name)));
    if (found->dtype != dtype)
      throw archive.error(concat("'", name, "' of the batch is ", found->dtype, ", and the graph takes ", dtype));
    if (!fits(shape, found->shape))
      throw archive.error(concat("'", name, "' of the batch has shape ", shape_of(found->shape),
                                 ", and the graph takes ", shape_of(shape)));
  }
}

}  // namespace flowtrain::nets
