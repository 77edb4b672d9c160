#include "pipeline/engine/isolation/protocol.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/plugins.h"
#include "sampling/core/registry.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/transform.h"

namespace flowtrain::isolation {
namespace {

using nlohmann::json;

/// A record without its views.
struct RecordHead {
  std::uint64_t id, bytes, boxes, parts;
  std::int64_t label;
  std::uint32_t height, width, channels;
  Encoding encoding;
  Box region;
};
static_assert(std::is_trivially_copyable_v<RecordHead> && std::is_trivially_copyable_v<Box>);

// A part is stored as it is, but for its views, whose lengths alone count; behind all parts of a record stand the name,
// shape and bytes of each.
static_assert(std::is_trivially_copyable_v<Part>);

std::size_t stored_bytes(const Record& record) {
  std::size_t bytes = aligned(sizeof(RecordHead)) + aligned(record.boxes.size_bytes()) + aligned(record.bytes.size()) +
                      aligned(record.parts.size_bytes());
  for (auto& part : record.parts)
    bytes += aligned(part.name.size()) + aligned(part.shape.size_bytes()) + aligned(part.bytes.size());
  return bytes;
}

/// Copies `bytes` to `to`, and returns where the next ones go.
std::byte* put_bytes(std::byte* to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + aligned(bytes.size());
}

/// Makes the views of the `count` parts at `from`, and returns the place behind them.
std::byte* load_parts(std::byte* from, std::size_t count) {
  const std::span parts(reinterpret_cast<Part*>(from), count);
  std::byte* next = from + aligned(parts.size_bytes());
  for (auto& part : parts) {
    part.name = {reinterpret_cast<const char*>(next), part.name.size()};
    next += aligned(part.name.size());
    part.shape = {reinterpret_cast<const std::int64_t*>(next), part.shape.size()};
    next += aligned(part.shape.size_bytes());
    part.bytes = {next, part.bytes.size()};
    next += aligned(part.bytes.size());
  }
  return next;
}

json to_json(const Value& value) {
  return std::visit(
      [&](const auto& held) {
        return json{value.index(), held};
      },
      static_cast<const Value::variant&>(value));
}

template <std::size_t index = 0>
Value value_from(const json& pair) {
  if constexpr (index < std::variant_size_v<Value::variant>) {
    if (pair.at(0) != index) return value_from<index + 1>(pair);
    return Value(pair.at(1).get<std::variant_alternative_t<index, Value::variant>>());
  } else {
    throw InternalError("a value of an unknown kind");
  }
}

json to_json(const Settings& settings) {
  json values = json::array();
  for (auto& key : settings.keys()) {
    if (!settings.given(key.name)) continue;
    const Origin& origin = settings.origin(key.name);
    values.push_back({key.name, to_json(settings.value(key.name)), origin.source, origin.line, origin.column});
  }
  return values;
}

Settings filled(const std::string& table, const std::vector<Key>& keys, const json& values) {
  Settings settings(table, keys);
  for (auto& each : values)
    if (settings.has(each.at(0)))
      settings.set(each.at(0), value_from(each.at(1)), {each.at(2), each.at(3), each.at(4)});
  return settings;
}

// Makes [sampler], whose keys follow from `name` and `inner`.
Settings sampler_from(const json& values) {
  const auto& core = core_keys("sampler");
  const auto chain = sampler_chain(filled("sampler", joined(core, {inner_key()}), values));
  return filled("sampler", joined(core, keys_of_chain(chain)), values);
}

// Makes a [[field]], whose keys follow from `as`.
Settings field_from(const std::string& table, const json& values) {
  const auto& core = core_keys("field");
  const Settings known = filled(table, core, values);
  return filled(table, joined(core, transforms().at(known.text("as")).keys), values);
}

json to_json(const PartForm& part) {
  return {part.name, static_cast<int>(part.encoding), static_cast<int>(part.dtype), part.shape};
}

PartForm part_from(const json& part) {
  return {part.at(0), static_cast<Encoding>(part.at(1).get<int>()), static_cast<DType>(part.at(2).get<int>()),
          part.at(3)};
}

// Texts are paths and names of any bytes; CBOR keeps them as they are.
std::string to_text(const json& content) {
  const auto bytes = json::to_cbor(content);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::size_t stored_bytes(std::span<const Record* const> records) {
  std::size_t bytes = 0;
  for (const Record* record : records) bytes += stored_bytes(*record);
  return bytes;
}

void store_records(std::span<const Record* const> records, std::byte* to) {
  for (const Record* record : records) {
    const RecordHead head{.id = record->id,
                          .bytes = record->bytes.size(),
                          .boxes = record->boxes.size(),
                          .parts = record->parts.size(),
                          .label = record->label,
                          .height = record->height,
                          .width = record->width,
                          .channels = record->channels,
                          .encoding = record->encoding,
                          .region = record->region};
    to = put_bytes(to, std::as_bytes(std::span(&head, 1)));
    to = put_bytes(to, std::as_bytes(record->boxes));
    to = put_bytes(to, record->bytes);
    to = put_bytes(to, std::as_bytes(record->parts));
    for (auto& part : record->parts) {
      to = put_bytes(to, std::as_bytes(std::span(part.name)));
      to = put_bytes(to, std::as_bytes(part.shape));
      to = put_bytes(to, part.bytes);
    }
  }
}

std::vector<Record> load_records(std::byte* from, std::size_t count) {
  std::vector<Record> records(count);
  for (Record& record : records) {
    RecordHead head;
    std::memcpy(&head, from, sizeof head);
    std::byte* const boxes = from + aligned(sizeof head);
    std::byte* const bytes = boxes + aligned(head.boxes * sizeof(Box));
    std::byte* const parts = bytes + aligned(head.bytes);
    record = {.id = head.id,
              .encoding = head.encoding,
              .bytes = {bytes, head.bytes},
              .height = head.height,
              .width = head.width,
              .channels = head.channels,
              .label = head.label,
              .boxes = {reinterpret_cast<const Box*>(boxes), head.boxes},
              .region = head.region,
              .parts = {reinterpret_cast<const Part*>(parts), head.parts}};
    from = load_parts(parts, head.parts);
  }
  return records;
}

KeptRecord::KeptRecord(const Record& from) : memory_(stored_bytes(from) / sizeof(std::max_align_t) + 1) {
  const Record* const record = &from;
  auto* const memory = reinterpret_cast<std::byte*>(memory_.data());
  store_records({&record, 1}, memory);
  record_ = load_records(memory, 1).front();
}

std::string to_bytes(const Setup& setup) {
  json fields = json::array(), parts = json::array();
  for (auto& field : setup.fields) fields.push_back({field.table(), to_json(field)});
  for (auto& part : setup.parts) parts.push_back(to_json(part));
  return to_text({{"plugins", setup.plugins},
                  {"settings", to_json(setup.settings)},
                  {"fields", fields},
                  {"parts", parts},
                  {"training", setup.training},
                  {"needs_targets", setup.needs_targets},
                  {"size", setup.size},
                  {"fingerprint", setup.fingerprint},
                  {"classes", setup.classes},
                  {"missing_labels", setup.missing_labels},
                  {"has_boxes", setup.has_boxes},
                  {"first_id", setup.first_id ? json(*setup.first_id) : json()},
                  {"unreadable", setup.unreadable}});
}

Setup setup_from(const std::string& bytes) {
  const json content = json::from_cbor(bytes);
  Setup setup;
  content.at("plugins").get_to(setup.plugins);
  for (auto& path : setup.plugins) open_plugin(path);
  setup.settings = sampler_from(content.at("settings"));
  for (auto& field : content.at("fields")) setup.fields.push_back(field_from(field.at(0), field.at(1)));
  for (auto& part : content.at("parts")) setup.parts.push_back(part_from(part));
  content.at("training").get_to(setup.training);
  content.at("needs_targets").get_to(setup.needs_targets);
  content.at("size").get_to(setup.size);
  content.at("fingerprint").get_to(setup.fingerprint);
  content.at("classes").get_to(setup.classes);
  content.at("missing_labels").get_to(setup.missing_labels);
  content.at("has_boxes").get_to(setup.has_boxes);
  if (const json& id = content.at("first_id"); !id.is_null()) setup.first_id = id.get<std::uint64_t>();
  content.at("unreadable").get_to(setup.unreadable);
  return setup;
}

std::string to_bytes(const Made& made) {
  json fields = json::array();
  for (auto& field : made.fields)
    fields.push_back({field.name, static_cast<int>(field.dtype), field.shape, field.mean, field.stddev, field.free_axes,
                      field.fill, field.sized, field.values, field.per_second});
  return to_text({{"fields", fields}, {"takes_blocks", made.takes_blocks}});
}

Made made_from(const std::string& bytes) {
  const json content = json::from_cbor(bytes);
  Made made;
  for (auto& field : content.at("fields"))
    made.fields.push_back({field.at(0), static_cast<DType>(field.at(1).get<int>()), field.at(2), field.at(3),
                           field.at(4), field.at(5), field.at(6), field.at(7), field.at(8), field.at(9)});
  made.takes_blocks = content.at("takes_blocks");
  return made;
}

}  // namespace flowtrain::isolation
