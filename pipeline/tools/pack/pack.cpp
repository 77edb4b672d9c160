#include "pipeline/tools/pack/pack.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/tools/pack/packing.h"
#include "pipeline/tools/pack/token_packer.h"
#include "sampling/audio/sound.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/parse.h"
#include "sampling/dataset.h"
#include "sampling/io/stored_array.h"
#include "sampling/parts/part_collector.h"
#include "sampling/samplers/keys.h"
#include "stages/core/error_context.h"

namespace flowtrain {

namespace {

namespace tbb = oneapi::tbb;

// A record that is being packed. Jobs are reused, and so is their memory.
struct PackJob {
  std::uint64_t id = 0;
  std::int64_t label = -1;
  ReadBuffer buffer;
  Sound sound;
  std::vector<SampleFile> files;
  const char* failed = nullptr;  // the stage in which the record failed
  std::string reason;
};

void check_out(const PackOptions& options) {
  for (const auto& name : names_in(options.out)) {
    if ((name == "train" && !options.train) || (name == "val" && !options.val)) continue;
    throw UserError(ExitCode::usage,
                    concat("--out ", options.out.string(), ": the folder is not empty, it holds '", name, "'"),
                    is_leftover(name) ? "an interrupted pack left it: remove it" : "name a new folder");
  }
}

// Returns the name of a part's file, whose ending tells `webdataset` how to read it.
std::string file_name_of(std::string_view part, Encoding encoding) {
  std::string name(part);
  const auto with_ending = [&name](const std::string& needed) {
    return name == needed || name.ends_with('.' + needed) ? name : name + '.' + needed;
  };
  if (encoding == Encoding::array) return with_ending("npy");
  return encoding == Encoding::text && !name.ends_with("json") ? with_ending("txt") : name;
}

// Refuses parts whose files no reader of shards could tell apart.
void check_names(const std::vector<PartForm>& forms) {
  std::map<std::string, std::string> parts;
  for (const auto& form : forms) {
    if (form.name.find('/') != form.name.npos)
      throw UserError(ExitCode::data, concat("the part '", form.name, "' has a / in its name, as no file can"),
                      "rename its column");
    const auto [other, is_new] = parts.emplace(lower_case(file_name_of(form.name, form.encoding)), form.name);
    if (!is_new)
      throw UserError(ExitCode::data,
                      concat("the parts '", other->second, "' and '", form.name, "' would have one file in a shard"),
                      "rename one of their columns");
  }
}

// Returns whether the record of a part lacks it. A list without items is one where lists differ in length.
bool is_lacking(const Part& part, const std::vector<PartForm>& forms) {
  if (!part.bytes.empty()) return false;
  const auto form = std::ranges::find(forms, part.name, &PartForm::name);
  return form == forms.end() || std::ranges::find(form->shape, -1) == form->shape.end();
}

// Returns the file of a part of a record; nothing if it is empty.
std::optional<SampleFile> file_of(const Part& part, const std::vector<PartForm>& forms) {
  auto name = file_name_of(part.name, part.encoding);
  if (part.encoding == Encoding::array) {
    if (is_lacking(part, forms)) return {};
    const auto header = npy_header(part.dtype, part.shape);
    const auto bytes = std::as_bytes(std::span(header));
    SampleFile file{std::move(name), {bytes.begin(), bytes.end()}};
    file.bytes.insert(file.bytes.end(), part.bytes.begin(), part.bytes.end());
    return file;
  }
  if (part.bytes.empty()) return {};
  return SampleFile{std::move(name), {part.bytes.begin(), part.bytes.end()}};
}

// Returns the file of a recording, which is decoded, so that damage is found now. With `as_flac` a WAV file becomes a
// FLAC file if that holds the same samples. The only one of its record is the part `audio` of the shards.
SampleFile sound_file_of(const Part& part, bool is_only, bool as_flac, Sound& sound) {
  decode_sound(part.bytes, sound, Silence::keep);
  std::string ending = sound_ending(part.bytes);
  std::vector<std::byte> bytes;
  if (as_flac && ending == "wav" && encode_flac(sound, bytes))
    ending = "flac";
  else
    bytes.assign(part.bytes.begin(), part.bytes.end());
  return {is_only || part.name == audio_part ? ending : concat(part.name, ".", ending), std::move(bytes)};
}

void prepare(PackJob& job, const Dataset& dataset, const std::vector<PartForm>& forms, const PackOptions& options) {
  const char* stage = "read";
  try {
    const Record record = dataset.read(job.id, job.buffer);
    job.label = record.label;
    job.files.clear();
    stage = "decode";
    const bool is_only = std::ranges::count(record.parts, Encoding::audio, &Part::encoding) == 1;
    for (auto& part : record.parts)
      if (part.encoding == Encoding::audio && !part.bytes.empty())
        job.files.push_back(sound_file_of(part, is_only, options.flac, job.sound));
      else if (auto file = file_of(part, forms))
        job.files.push_back(std::move(*file));
    const bool has_picture = record.encoding != Encoding::bytes || !record.bytes.empty() || job.files.empty();
    if (has_picture) {
      auto picture = repack(record, options.pictures);
      job.files.insert(job.files.begin(), {ending_of(picture.format), std::move(picture.bytes)});
    }
    job.failed = nullptr;
  } catch (const SampleError& error) {
    job.failed = stage;
    job.reason = error.what();
  } catch (...) {
    add_error_context(stage, dataset.describe(job.id));
  }
}

// Returns the names, one a line, as the data set `webdataset` reads them.
std::string class_list(const Dataset& dataset) {
  std::string list;
  for (const auto& name : dataset.classes()) {
    if (name.find_first_of("\r\n") != name.npos)
      throw UserError(ExitCode::data, concat("a class's name has more than one line: ", to_toml(Value(name))),
                      "rename it");
    list += name + '\n';
  }
  return list;
}

class SplitPacker {
 public:
  SplitPacker(const Config& config, const PackOptions& options, const PackedSplit& split)
      : dataset_(*split.dataset),
        forms_(dataset_.parts()),
        options_(options),
        name_(split.name()),
        target_(options.out / name_),
        folder_(target_),
        writer_(folder_, name_, options.limits),
        log_(config, split, "img/s") {
    check_names(forms_);
  }

  /// Packs the split. Returns false if it was interrupted.
  bool run(unsigned workers, const Interrupt& interrupt) {
    if (!write_shards(workers, interrupt)) return false;
    if (writer_.samples() == 0) throw UserError(ExitCode::data, name_ + ": no sample can be packed");
    if (const auto list = class_list(dataset_); !list.empty()) folder_.write_file("classes.txt", list);
    if (!bad_sample_log_.empty()) folder_.write_file("bad_samples.jsonl", bad_sample_log_);
    folder_.commit();
    log_.finish();
    summarise();
    return true;
  }

 private:
  bool write_shards(unsigned workers, const Interrupt& interrupt) {
    const auto order = order_of(dataset_, options_);
    std::vector<PackJob> jobs(4 * std::size_t{workers});
    std::uint64_t issued = 0;
    const auto fill = [&](PackJob& job) {
      if (issued == dataset_.size()) return false;
      job.id = order(issued++);
      return true;
    };
    const bool all = run_jobs(
        jobs, workers, interrupt, fill, [&](PackJob& job) { prepare(job, dataset_, forms_, options_); },
        [&](const PackJob& job) { take(job, interrupt); });
    if (all) writer_.finish();
    return all;
  }

  void take(const PackJob& job, const Interrupt& interrupt) {
    if (job.failed && interrupt.requested())
      return;  // the record may only have failed because its server was not awaited
    if (job.failed)
      bad_sample_log_ += log_.leave_out(job.id, job.failed, job.reason);
    else
      writer_.add(job.id, job.label, job.files);
    log_.show(writer_.samples() + log_.bad(), writer_.samples());
  }

  void summarise() const {
    std::printf("%s: %s samples in %s shard%s, %.1f MiB, %s, in %s\n", name_.c_str(),
                format_count(writer_.samples()).c_str(), format_count(writer_.shards()).c_str(),
                writer_.shards() == 1 ? "" : "s", static_cast<double>(writer_.bytes()) / (1 << 20),
                log_.rate(writer_.samples()).c_str(), target_.c_str());
    if (const auto bad = log_.bad(); bad > 0)
      std::printf("%s: %s bad sample%s left out, listed in %s\n", name_.c_str(), format_count(bad).c_str(),
                  bad == 1 ? "" : "s", (target_ / "bad_samples.jsonl").c_str());
  }

  const Dataset& dataset_;
  const std::vector<PartForm> forms_;
  const PackOptions& options_;
  std::string name_;
  std::filesystem::path target_;
  std::string bad_sample_log_;
  AtomicFolder folder_;
  ShardWriter writer_;
  PackingLog log_;
};

}  // namespace

int pack(const Config& config, PackOptions options, Interrupt& interrupt) {
  if (options.tokens) return pack_tokens(config, options, interrupt);
  check_out(options);
  options.pictures.decoding = decoding_of(config.table("sampler"));
  const auto splits = open_splits(config, options);
  interrupt.set_grace(std::chrono::duration<double>(*config.run().grace_seconds));
  interrupt.defer();  // files exist from here on, which must be removed at a signal
  const bool is_new = !std::filesystem::exists(options.out);
  make_folders(options.out);
  const auto workers = workers_of(config.loader().workers);
  const Scheduler scheduler(workers);
  for (const auto& split : splits) {
    if (SplitPacker(config, options, split).run(workers, interrupt)) continue;
    std::error_code not_empty;
    if (is_new) std::filesystem::remove(options.out, not_empty);
    log_info(concat("interrupted: ", (options.out / split.name()).string(), " was removed"));
    return Interrupt::exit_code(*interrupt.requested());
  }
  return 0;
}

}  // namespace flowtrain
