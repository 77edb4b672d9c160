#include "pipeline/tools/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/session/session.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/text.h"
#include "sampling/draw_notes.h"
#include "sampling/images/finish.h"
#include "stages/loader/batch_mixer.h"
#include "stages/loader/shown_row.h"

namespace flowtrain {

namespace {

using nlohmann::json;

// Returns a scalar or short vector as numbers, a larger field as its hash.
json value_of(const Field& field, std::span<const std::byte> bytes) {
  if (bytes.size() > 16 * size_of(field.dtype)) return xxh64_hex(bytes);
  const auto numbers = [bytes]<class Number>(Number) {
    std::vector<Number> values(bytes.size() / sizeof(Number));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values.size() == 1 ? json(values.front()) : json(values);
  };
  switch (field.dtype) {
    case DType::u8: return numbers(std::uint8_t{});
    case DType::i32: return numbers(std::int32_t{});
    case DType::i64: return numbers(std::int64_t{});
    case DType::f32: return numbers(0.f);
  }
  return {};
}

// The draws for a slab's batch, and its pictures as the net gets them, in levels.
struct Mixed {
  const BatchMix& drawn;
  std::string field;
  std::vector<std::uint8_t> pictures;
};

Mixed mixed(BatchMixer& mixer, const SlabLayout& layout, const Slab& slab) {
  const auto& fields = layout.fields();
  const auto image = static_cast<std::size_t>(std::ranges::find_if(fields, is_image) - fields.begin());
  const Field& field = fields[image];
  const PictureShape shape = shape_of(slab.field(image));
  PixelRule levels;
  for (std::size_t c = 0; c < static_cast<std::size_t>(field.shape[2]); ++c) {
    levels.scale.push_back(1);
    levels.shift.push_back(0);
    levels.fill.push_back(field.mean.empty() ? 0.f : static_cast<float>(255 * field.mean[c]));
  }
  Mixed result{mixer(slab), field.name, std::vector<std::uint8_t>(slab.rows().size() * slab.row_bytes(image))};
  PixelMix pixels = result.drawn.pixels();
  const auto* from = reinterpret_cast<const std::uint8_t*>(slab.host() + slab.offset(image));
  const auto rows = static_cast<std::int64_t>(slab.rows().size());
  std::vector<float> grey(slab.rows().size());
  if (pixels.tints) measure_grey(from, 0, rows, shape, grey.data());
  pixels.grey = grey.data();
  std::vector<float> values(result.pictures.size());
  PictureFinisher(shape, levels, false)({from, shape, &pixels}, 0, rows, values.data());
  std::transform(values.begin(), values.end(), result.pictures.begin(),
                 [](float level) { return static_cast<std::uint8_t>(std::lround(level)); });
  return result;
}

void describe_mix(const BatchMix& mix, const Slab& slab, std::size_t row, json& entry) {
  if (mix.tints) entry["color"] = describe(mix.colors[row]);
  if (const auto erased = describe(mix.rows[row].erased); !erased.empty())
    entry["erased"] = concat(erased, mix.noise ? ", to noise" : ", to the mean");
  if (mix.kind == BatchMix::Kind::none) return;
  entry["mix"] = describe(mix);
  entry["mixed_with"] = slab.rows()[static_cast<std::size_t>(mix.rows[row].partner)].position;
}

// Returns the values that the sampler drew for a row, by making the row again.
json draws_of(const Sampler& sampler, const Slab& slab, const RowWork& work, std::uint64_t seed) {
  std::vector<std::vector<std::byte>> fields(slab.layout().fields().size());
  std::vector<std::byte*> pointers;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].resize(slab.bytes_of(work, i).size());
    pointers.push_back(fields[i].data());
  }
  Stream random(seed, Purpose::sample, work.position);
  const DrawNotes notes;
  const std::int64_t part = work.place.extent;  // the record's part of a packed row
  const auto extents = slab.layout().is_packed() ? std::span(&part, 1) : slab.extents();
  sampler.sample(work.record, random, Row(pointers, extents, work.place.segment));
  json all = json::array();
  for (auto& [name, value] : notes.all()) {
    const auto* numbers = std::get_if<std::vector<double>>(&value);
    all.push_back({{name, !numbers               ? json(std::get<std::string>(value))
                          : numbers->size() == 1 ? json(numbers->front())
                                                 : json(*numbers)}});
  }
  return all;
}

// Adds the texts of a row's fields, and writes their pictures and sounds: the first picture as NAME.png.
void add_shown(const Slab& slab, std::size_t row, const Mixed* mix, const std::filesystem::path& folder,
               const std::string& name, json& entry) {
  const RowWork& work = slab.rows()[row];
  for (auto& [field, shown] : with_recordings(work.record, show_row(slab, work))) {
    if (!shown.text.empty()) entry["shown"][field] = shown.text;
    std::string sound = concat(name, ".", field, ".wav");
    std::ranges::replace(sound, '/', '_');
    if (!shown.sound.empty()) {
      write_file_atomically(folder / sound,
                            std::string_view(reinterpret_cast<const char*>(shown.sound.data()), shown.sound.size()));
      entry["sounds"][field] = sound;
    }
    if (shown.picture.pixels.empty()) continue;
    const bool first = !entry.contains("picture");
    std::string file = concat(name, first ? "" : "." + field, ".png");
    std::ranges::replace(file, '/', '_');
    Picture picture = shown.picture.view();
    if (mix && field == mix->field) picture.pixels = mix->pictures.data() + row * shown.picture.pixels.size();
    const auto png = encode_png(picture);
    write_file_atomically(folder / file, std::string_view(reinterpret_cast<const char*>(png.data()), png.size()));
    (first ? entry["picture"] : entry["pictures"][field]) = file;
  }
}

// Describes a row. `mix` may be null.
json describe_row(const DataParts& data, const Slab& slab, std::size_t row, std::uint64_t seed, const Mixed* mix,
                  const std::filesystem::path& folder, std::uint64_t number) {
  const RowWork& work = slab.rows()[row];
  json entry{{"position", work.position}, {"id", work.id}, {"source", data.dataset->describe(work.id)}};
  if (work.replaced) entry["replaced_times"] = work.replaced;
  if (auto draws = draws_of(*data.sampler, slab, work, seed); !draws.empty()) entry["draws"] = std::move(draws);
  if (mix) describe_mix(mix->drawn, slab, row, entry);
  for (std::size_t i = 0; i < slab.layout().fields().size(); ++i) {
    const Field field = slab.field(i);
    const auto bytes = slab.bytes_of(work, i);
    // "source" already names the record.
    if (!bytes.empty()) entry[field.name == source_field ? "source_index" : field.name] = value_of(field, bytes);
  }
  add_shown(slab, row, mix, folder, printed("row-%04ju", std::uintmax_t{number}), entry);
  return entry;
}

// Returns whether a replay writes files of that name.
bool is_of_replay(const std::string& name) {
  if (name == "batch.json" || name == "nonfinite.json" || is_leftover(name)) return true;
  const std::string_view before = "row-";
  if (!name.starts_with(before) || !(name.ends_with(".png") || name.ends_with(".wav"))) return false;
  const auto digits = name.substr(before.size(), name.find('.') - before.size());
  return digits.size() >= 4 && digits.find_first_not_of("0123456789") == digits.npos;
}

// Returns the scalars as JSON, which has no infinities: values that are not finite are null.
json scalars_of(const Recomputed& computed) {
  json scalars{{"loss", computed.result.loss},
               {"grad_norm", computed.result.grad_norm},
               {"from", {{"iteration", computed.after}}}};
  for (auto& [name, value] : computed.result.parts) scalars[name] = value;
  if (computed.snapshot) scalars["from"]["snapshot"] = computed.snapshot->string();
  return scalars;
}

}  // namespace

void check_replay_folder(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / "batch.json")) return;
  for (const auto& name : names_in(folder))
    if (!is_of_replay(name))
      throw UserError(
          ExitCode::usage,
          concat("--out ", folder.string(), ": the folder is not empty, it holds '", name, "', which is not a replay"),
          "name a new folder");
}

std::uint64_t replay(const Config& config, std::uint64_t iteration, const std::filesystem::path& folder,
                     const Recomputed* computed) {
  Session session(config, {.dry_run = true, .checks_memory = false, .device = "cpu"});
  const DataParts& data = session.open_training();
  session.prepare();
  const auto accum = static_cast<std::uint32_t>(*config.train().accum);
  const auto loader = session.make_loader(loader_parts("train", data, config, iteration, iteration));
  const Mixing mixing = mixing_of(config);
  std::optional<BatchMixer> mixer;
  if (mixing.any()) mixer.emplace(mixing, loader->layout(), seed_of(config), accum);
  check_replay_folder(folder);
  make_folders(folder);
  for (const auto& name : names_in(folder))  // an earlier replay may have had more rows
    if (is_of_replay(name)) std::filesystem::remove(folder / name);
  loader->start();

  json rows = json::array();
  for (Ticket ticket; loader->next(ticket); loader->release(ticket)) {
    const Slab& slab = loader->slab(ticket);
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    const auto mix = mixer ? std::optional(mixed(*mixer, loader->layout(), slab)) : std::nullopt;
    for (std::size_t row = 0; row < slab.rows().size(); ++row)
      rows.push_back(describe_row(data, slab, row, seed_of(config), mix ? &*mix : nullptr, folder, rows.size()));
  }
  const std::uint64_t count = rows.size();
  json batch{{"iteration", iteration}, {"epoch", session.epoch().number(iteration) + 1}, {"rows", std::move(rows)}};
  if (computed) batch.update(scalars_of(*computed));
  write_file_atomically(folder / "batch.json", json_text(batch, 2) + "\n");
  return count;
}

}  // namespace flowtrain
