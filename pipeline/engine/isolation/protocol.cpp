#include "pipeline/engine/isolation/protocol.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/plugins.h"
#include "sampling/samplers/decorators/decorator.h"

namespace flowtrain::isolation {
namespace {

using nlohmann::json;

/// A record without its views.
struct RecordHead {
  std::uint64_t id, bytes, boxes;
  std::int64_t label;
  std::uint32_t height, width, channels;
  Encoding encoding;
  Box region;
};
static_assert(std::is_trivially_copyable_v<RecordHead> && std::is_trivially_copyable_v<Box>);

std::size_t stored_bytes(const Record& record) {
  return aligned(sizeof(RecordHead)) + aligned(record.boxes.size_bytes()) + aligned(record.bytes.size());
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

// Makes the settings, whose keys follow from `name` and `inner`.
Settings settings_from(const json& values) {
  const auto filled = [&](const std::vector<Key>& keys) {
    Settings settings("sampler", keys);
    for (auto& each : values)
      if (settings.has(each.at(0)))
        settings.set(each.at(0), value_from(each.at(1)), {each.at(2), each.at(3), each.at(4)});
    return settings;
  };
  const auto& core = core_keys("sampler");
  const auto chain = sampler_chain(filled(joined(core, {inner_key()})));
  return filled(joined(core, keys_of_chain(chain)));
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
    const RecordHead head{record->id,    record->bytes.size(), record->boxes.size(), record->label, record->height,
                          record->width, record->channels,     record->encoding,     record->region};
    std::memcpy(to, &head, sizeof head);
    std::byte* const boxes = to + aligned(sizeof head);
    std::byte* const bytes = boxes + aligned(record->boxes.size_bytes());
    if (!record->boxes.empty()) std::memcpy(boxes, record->boxes.data(), record->boxes.size_bytes());
    if (!record->bytes.empty()) std::memcpy(bytes, record->bytes.data(), record->bytes.size());
    to = bytes + aligned(record->bytes.size());
  }
}

std::vector<Record> load_records(const std::byte* from, std::size_t count) {
  std::vector<Record> records(count);
  for (Record& record : records) {
    RecordHead head;
    std::memcpy(&head, from, sizeof head);
    const std::byte* const boxes = from + aligned(sizeof head);
    const std::byte* const bytes = boxes + aligned(head.boxes * sizeof(Box));
    record = {.id = head.id,
              .encoding = head.encoding,
              .bytes = {bytes, head.bytes},
              .height = head.height,
              .width = head.width,
              .channels = head.channels,
              .label = head.label,
              .boxes = {reinterpret_cast<const Box*>(boxes), head.boxes},
              .region = head.region};
    from = bytes + aligned(head.bytes);
  }
  return records;
}

KeptRecord::KeptRecord(const Record& from)
    : bytes_(from.bytes.begin(), from.bytes.end()), boxes_(from.boxes.begin(), from.boxes.end()), record_(from) {
  record_.bytes = bytes_;
  record_.boxes = boxes_;
  record_.cache = nullptr;
}

std::string to_bytes(const Setup& setup) {
  return to_text({{"plugins", setup.plugins},
                  {"settings", to_json(setup.settings)},
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
  setup.settings = settings_from(content.at("settings"));
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
    fields.push_back({field.name, static_cast<int>(field.dtype), field.shape, field.mean, field.stddev});
  return to_text({{"fields", fields}, {"takes_blocks", made.takes_blocks}});
}

Made made_from(const std::string& bytes) {
  const json content = json::from_cbor(bytes);
  Made made;
  for (auto& field : content.at("fields"))
    made.fields.push_back(
        {field.at(0), static_cast<DType>(field.at(1).get<int>()), field.at(2), field.at(3), field.at(4)});
  made.takes_blocks = content.at("takes_blocks");
  return made;
}

}  // namespace flowtrain::isolation
