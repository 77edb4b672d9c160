#include "nets/package/description.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sampling/core/json_depth.h"
#include "sampling/core/mistake.h"
#include "sampling/core/text.h"

namespace flowtrain::nets {

namespace {

using nlohmann::json;

constexpr int first_version = 4, last_version = 5;  // version 4 has no free axes

PackageOutput::Kind kind_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, PackageOutput::Kind>, 5> kinds{
      {{"loss", PackageOutput::Kind::loss},
       {"metric", PackageOutput::Kind::metric},
       {"count", PackageOutput::Kind::count},
       {"output", PackageOutput::Kind::output},
       {"gradient", PackageOutput::Kind::gradient}}};
  const auto* const found = std::ranges::find(kinds, name, &std::pair<std::string_view, PackageOutput::Kind>::first);
  if (found == kinds.end()) throw std::invalid_argument("an output has the unknown kind '" + name + "'");
  return found->second;
}

std::string text_or(const json& value, const std::string& otherwise) {
  return value.is_null() ? otherwise : value.get<std::string>();
}

PackageInput::FreeAxis read_free_axis(const json& from, const BatchField& field) {
  const PackageInput::FreeAxis made{from.at("axis").get<std::size_t>(), from.at("least").get<std::int64_t>(),
                                    from.at("most").get<std::int64_t>(), from.at("extent").get<std::size_t>()};
  if (made.axis < 1 || made.axis >= field.shape.size() || field.shape[made.axis] != -1 || made.least < 1 ||
      made.most < made.least)
    throw std::invalid_argument("a free axis of the input '" + field.name + "' is out of range");
  return made;
}

PackageInput::Cut read_cut(const json& from, const BatchField& field) {
  const PackageInput::Cut made{from.at(0).get<std::int64_t>(), from.at(1).get<std::int64_t>(),
                               from.at(2).get<std::int64_t>()};
  const auto rank = static_cast<std::int64_t>(field.shape.size());
  const std::int64_t size =
      made.dimension < 1 || made.dimension >= rank ? 0 : field.shape[static_cast<std::size_t>(made.dimension)];
  const bool fits = size < 0 ? made.end <= 0 : made.begin < made.end && made.end <= size;
  if (made.begin < 0 || size == 0 || !fits)
    throw std::invalid_argument("a part of the input '" + field.name + "' is out of range");
  return made;
}

PackageInput::Values read_values(const json& from, const BatchField& field) {
  PackageInput::Values made{.least = from.at("least").get<std::int64_t>(),
                            .end = from.at("end").get<std::int64_t>(),
                            .ignored = {},
                            .part = {}};
  if (const json& ignored = from.at("ignored"); !ignored.is_null()) made.ignored = ignored.get<std::int64_t>();
  for (const json& cut : from.at("part")) made.part.push_back(read_cut(cut, field));
  return made;
}

PackageInput read_input(const json& from) {
  PackageInput made{.field = {from.at("field").get<std::string>(), from.at("dtype").get<std::string>(),
                              from.at("shape").get<std::vector<std::int64_t>>()},
                    .free = {},
                    .values = {},
                    .rows = from.value("rows", std::int64_t{0}),
                    .channels_last = from.value("channels_last", false)};
  if (made.channels_last && made.field.shape.size() != 4)
    throw std::invalid_argument("the input '" + made.field.name + "' needs four dimensions for its layout");
  if (made.field.shape.empty())
    throw std::invalid_argument("the input '" + made.field.name + "' has no dimension for rows");
  if (from.contains("free"))
    for (const json& axis : from.at("free")) made.free.push_back(read_free_axis(axis, made.field));
  for (const json& values : from.at("values")) made.values.push_back(read_values(values, made.field));
  return made;
}

PackageGraph read_graph(const json& from) {
  PackageGraph made;
  from.at("name").get_to(made.name);
  from.at("parameters").get_to(made.parameters);
  from.at("buffers").get_to(made.buffers);
  from.at("changed").get_to(made.changed);
  from.at("constants").get_to(made.constants);
  from.at("counters").get_to(made.counters);
  for (const json& output : from.at("outputs")) {
    made.outputs.push_back({output.at("name").get<std::string>(), kind_of(output.at("kind").get<std::string>()),
                            output.contains("of") ? text_or(output.at("of"), "") : ""});
    if (const auto& kept = made.outputs.back(); kept.kind == PackageOutput::Kind::gradient &&
                                                std::ranges::find(made.parameters, kept.of) == made.parameters.end())
      throw std::invalid_argument("a gradient belongs to '" + kept.of + "', which is not a parameter");
  }
  return made;
}

void check_losses(const PackageGraph& graph, std::size_t expected) {
  const auto losses = std::ranges::count(graph.outputs, PackageOutput::Kind::loss, &PackageOutput::kind);
  if (static_cast<std::size_t>(losses) != expected)
    throw std::invalid_argument(
        concat("the graph '", graph.name, "' has ", losses, " outputs of kind 'loss', expected ", expected));
}

PackageDescription read_json(const json& from) {
  PackageDescription made;
  from.at("torch").get_to(made.torch);
  from.at("device").get_to(made.device);
  from.at("instruction_set").get_to(made.instruction_set);
  made.amp = text_or(from.at("amp"), "off");
  from.at("command").get_to(made.command);
  for (const json& input : from.at("inputs")) made.inputs.push_back(read_input(input));
  for (const json& graph : from.at("train")) {
    made.train.push_back(read_graph(graph));
    check_losses(made.train.back(), 1);
  }
  made.eval = read_graph(from.at("eval"));
  if (made.train.empty()) throw std::invalid_argument("it has no training graph");
  check_losses(made.eval, made.train.size());
  for (const PackageGraph& graph : made.train) {
    const auto same = [&](const PackageOutput& output) {
      return output.kind == PackageOutput::Kind::loss && output.name == graph.loss().name;
    };
    if (std::ranges::count_if(made.eval.outputs, same) != 1)
      throw std::invalid_argument(concat("the evaluation graph does not give the loss '", graph.loss().name, "'"));
  }
  return made;
}

}  // namespace

const PackageOutput& PackageGraph::loss() const {
  return *std::ranges::find(outputs, PackageOutput::Kind::loss, &PackageOutput::kind);
}

PackageDescription read_description(const PackageArchive& archive) {
  const ArchiveRecord record = archive.read("extra/flowtrain.json");
  const std::string_view text(reinterpret_cast<const char*>(record.bytes().data()), record.bytes().size());
  try {
    if (is_nested_too_deep(text)) throw std::invalid_argument(concat("it is nested deeper than ", deepest_json));
    const json from = json::parse(text);
    if (const auto version = from.at("version").get<std::int64_t>(); version < first_version || version > last_version)
      throw Mistake(archive
                        .error(concat("it has version ", version, ", but this flowtrain reads versions ", first_version,
                                      " to ", last_version))
                        .what(),
                    concat("make it anew with the Python package of this version: python -m flowtrain export ",
                           archive.path(), " -o ", archive.path()));
    return read_json(from);
  } catch (const Mistake&) {
    throw;
  } catch (const std::exception& error) {  // json or the code above threw it
    throw archive.error(std::string("its flowtrain.json is damaged: ") + error.what());
  }
}

std::string make_anew(const PackageDescription& description) { return "make it anew: " + description.command; }

}  // namespace flowtrain::nets
