#include "pipeline/tools/pack/token_packer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/tools/pack/packing.h"
#include "pipeline/tools/pack/token_writer.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"
#include "sampling/tokens/tokenizer.h"
#include "stages/core/error_context.h"

namespace flowtrain {
namespace {

namespace tbb = oneapi::tbb;
namespace fs = std::filesystem;

constexpr const char *plan_name = "packing.json", *totals_name = "tokens.json", *unfinished = ".unfinished";
constexpr std::uint64_t largest_tokenizer = 1 << 30;
/// The records whose texts tell a source from another one of its size, and the threads that read them.
constexpr std::uint64_t sampled_records = 256;
constexpr std::size_t sampling_threads = 8;
/// The bounds of the records that a job takes; of a data set that does not tell their lengths it takes few.
constexpr std::uint64_t job_bytes = 1 << 18, job_records = 256, job_records_of_unknown_length = 16;

/// A tokenizer, and what the shards hold of it.
struct PackedTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string bytes;  ///< bytes of its file; empty: there is no file
  std::string name;   ///< name of its copy, or "bytes"
  TokenHeader form = {};
};

/// Returns the id after each document.
std::uint32_t end_of(const Tokenizer& tokenizer, const std::string& name) {
  if (name == "none") return TokenHeader::no_end;
  const auto known = told_special_tokens(tokenizer);
  if (!name.empty()) {
    if (const auto id = tokenizer.special(name)) return *id;
    throw UserError(ExitCode::usage, concat("--end ", name, ": the tokenizer has no such special token"), known);
  }
  for (const char* const usual : usual_text_ends)
    if (const auto id = tokenizer.special(usual)) return *id;
  if (const auto own = tokenizer.end(); own.size() == 1) return own.front();
  throw UserError(ExitCode::usage, "the tokenizer has no usual special token for the end of a text",
                  concat("name one by --end TOKEN, or leave it out by --end none; ", known));
}

PackedTokenizer open_packed(const TokenPacking& how) {
  PackedTokenizer packed{.tokenizer = open_tokenizer(how.tokenizer, how.pattern), .name = "bytes"};
  if (how.tokenizer != "bytes") {
    packed.bytes = read_text(how.tokenizer, largest_tokenizer);
    packed.name = "tokenizer" + fs::path(how.tokenizer).extension().string();
  }
  packed.form.vocabulary = packed.tokenizer->vocabulary_size();
  packed.form.end = end_of(*packed.tokenizer, how.end);
  return packed;
}

/// Returns the name of the text that is packed.
std::string packed_part(const Dataset& dataset, const std::string& wanted) {
  std::vector<std::string> texts;
  for (const auto& form : dataset.parts())
    if (form.encoding == Encoding::text) texts.push_back(form.name);
  if (wanted.empty() && texts.size() == 1) return texts.front();
  if (std::ranges::find(texts, wanted) != texts.end()) return wanted;
  if (texts.empty())
    throw UserError(ExitCode::usage, "the records of this data set have no text to pack as tokens",
                    "take a data set with texts: text, manifest, webdataset");
  throw UserError(ExitCode::usage,
                  wanted.empty() ? concat("the records have several texts: ", join(texts))
                                 : concat("--part ", wanted, ": the records have no such text"),
                  concat("name one of them: --part ", texts.front()));
}

/// Returns a hash of the texts of some records, which are the same ones each time: the fingerprint of a data set does
/// not tell a file from another one of its size.
std::uint64_t hash_of_texts(const Dataset& dataset, const std::string& part_name) {
  const std::uint64_t size = dataset.size(), count = std::min(size, sampled_records);
  std::vector<std::uint64_t> hashes(count);
  in_parallel(count, sampling_threads, [&](std::size_t i) {
    ReadBuffer buffer;
    try {
      const Record record = dataset.read(count < 2 ? 0 : i * (size - 1) / (count - 1), buffer);
      if (const Part* const part = record.part(part_name)) hashes[i] = fingerprint_of(part->bytes);
    } catch (const SampleError&) {  // it is left out when its turn comes
    }
  });
  return fingerprint_of(std::as_bytes(std::span(hashes)));
}

/// Some records that follow one another, while they are encoded. Jobs are reused, and so is their memory.
struct TokenJob {
  /// One record; its ids end at `end` among those of the job.
  struct Document {
    std::uint64_t id, end, text_bytes;
    const char* failed = nullptr;  ///< the stage in which it failed
    std::string reason = {};
  };
  std::uint64_t first = 0;
  std::vector<Document> documents;
  std::vector<std::uint32_t> ids;
  ReadBuffer buffer;
};

class TokenPacker {
 public:
  TokenPacker(const Config& config, const PackOptions& options, const PackedTokenizer& tokenizer,
              const PackedSplit& split)
      : dataset_(*split.dataset),
        tokenizer_(tokenizer),
        part_(packed_part(dataset_, options.tokens->part)),
        order_(order_of(dataset_, options)),
        name_(split.name()),
        target_(options.out / name_),
        folder_(options.out / (name_ + unfinished)),
        plan_(plan_of(options)),
        writer_(folder_, name_, options.limits, tokenizer.form),
        log_(config, split, "tokens/s") {}

  /// Packs the split, or what is left of it. Returns false if it was interrupted.
  bool run(unsigned workers, const Interrupt& interrupt) {
    if (is_same_plan(target_)) {
      log_info(concat(target_.string(), " is packed already"));
      return true;
    }
    begin();
    if (!encode(workers, interrupt)) {
      log_info(concat("interrupted: the same command continues ", folder_.string(), " with sample ",
                      format_count(writer_.next_record()), " of ", format_count(dataset_.size())));
      return false;
    }
    writer_.finish(dataset_.size());
    if (writer_.totals().documents == 0) throw UserError(ExitCode::data, name_ + ": no sample has a token");
    finish();
    return true;
  }

 private:
  /// Returns a line of all that decides the bytes of the shards.
  std::string plan_of(const PackOptions& options) const {
    const auto& form = tokenizer_.form;
    JsonObject plan{{"version", TokenHeader::right_version},
                    {"data", hash_hex(dataset_.fingerprint())},
                    {"records", dataset_.size()},
                    {"part", part_},
                    {"texts", hash_hex(hash_of_texts(dataset_, part_))},
                    {"tokenizer", hash_hex(fingerprint_of(tokenizer_.bytes))},
                    {"pattern", options.tokens->pattern},
                    {"end", form.end == TokenHeader::no_end ? ordered_json() : ordered_json(form.end)},
                    {"shard_bytes", options.limits.bytes},
                    {"shard_documents", options.limits.samples},
                    {"shuffle", options.shuffle ? ordered_json(*options.shuffle) : ordered_json()}};
    return json_line(std::move(plan)) + '\n';
  }

  /// Returns whether a folder exists, and was made by the same plan. Throws UserError(usage) for one of another plan.
  bool is_same_plan(const fs::path& folder) const {
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) return false;
    const auto plan = folder / plan_name;
    if (fs::exists(plan, ignored) && read_text(plan, largest_tokenizer) == plan_) return true;
    throw UserError(
        ExitCode::usage,
        concat("--out: ", folder.string(),
               " was packed from other data (or from texts that have changed since), or with other options"),
        "remove it, or name a new folder");
  }

  void begin() {
    if (!is_same_plan(folder_)) {
      AtomicFolder folder(folder_);
      folder.write_file(plan_name, plan_);
      folder.commit();
    }
    next_ = writer_.resume();
    log_.resume(next_, writer_.ids(), writer_.totals().bad);
    if (next_ > 0)
      log_info(concat(name_, ": continues with sample ", format_count(next_), " of ", format_count(dataset_.size())));
  }

  /// Encodes all records, and writes them in order. Returns false if it was interrupted.
  bool encode(unsigned workers, const Interrupt& interrupt) {
    std::vector<TokenJob> jobs(4 * std::size_t{workers});
    return run_jobs(
        jobs, workers, interrupt, [&](TokenJob& job) { return fill(job); }, [&](TokenJob& job) { encode(job); },
        [&](const TokenJob& job) { take(job, interrupt); });
  }

  /// Gives a job the next records, as many as make some work. Returns false if there are none.
  bool fill(TokenJob& job) {
    if (next_ == dataset_.size()) return false;
    job.first = next_;
    job.documents.clear();
    for (std::uint64_t bytes = 0, count = 0; next_ < dataset_.size() && bytes < job_bytes && count < job_records;) {
      const auto id = order_(next_++);
      job.documents.push_back({id, 0, 0});
      Record record;
      const bool known = dataset_.outline(id, record, outline_);
      const Part* part = known ? record.part(part_) : nullptr;
      bytes += part && !part->shape.empty() ? static_cast<std::uint64_t>(part->shape[0]) : 0;
      count += known ? 1 : job_records / job_records_of_unknown_length;
    }
    return true;
  }

  void encode(TokenJob& job) const {
    job.ids.clear();
    for (auto& document : job.documents) {
      const auto begin = job.ids.size();
      const char* stage = "read";
      try {
        const Record record = dataset_.read(document.id, job.buffer);
        const Part* const part = record.part(part_);
        stage = "encode";
        if (part) encode(*part, job, document);
      } catch (const SampleError& error) {
        document.failed = stage;
        document.reason = error.what();
        job.ids.resize(begin);
      } catch (...) {
        add_error_context(stage, dataset_.describe(document.id));
      }
      document.end = job.ids.size();
    }
  }

  void encode(const Part& part, TokenJob& job, TokenJob::Document& document) const {
    const auto begin = job.ids.size();
    document.text_bytes = part.bytes.size();
    tokenizer_.tokenizer->encode({reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size()}, job.ids);
    if (job.ids.size() > begin && tokenizer_.form.end != TokenHeader::no_end) job.ids.push_back(tokenizer_.form.end);
  }

  void take(const TokenJob& job, const Interrupt& interrupt) {
    std::uint64_t begin = 0, place = job.first;
    for (const auto& document : job.documents) {
      // The record may only have failed because its server was not awaited: no shard may end without it.
      stopped_ = stopped_ || (document.failed && interrupt.requested());
      if (stopped_) return;
      const auto ids = std::span(job.ids).subspan(begin, document.end - begin);
      begin = document.end;
      if (document.failed)
        writer_.leave_out(log_.leave_out(document.id, document.failed, document.reason));
      else if (!ids.empty())
        writer_.add(place, ids, document.text_bytes);
      ++place;
    }
    log_.show(place, writer_.ids());
  }

  /// Completes the folder, and gives it its name.
  void finish() {
    const auto& totals = writer_.totals();
    const auto& form = tokenizer_.form;
    const JsonObject all{{"version", TokenHeader::right_version},
                         {"shards", totals.shards},
                         {"records", dataset_.size()},
                         {"bad_records", totals.bad},
                         {"documents", totals.documents},
                         {"ids", totals.ids},
                         {"text_bytes", totals.text_bytes},
                         {"id_bytes", token_width(form.vocabulary)},
                         {"vocabulary", form.vocabulary},
                         {"end", form.end == TokenHeader::no_end ? ordered_json() : ordered_json(form.end)},
                         {"tokenizer", tokenizer_.name},
                         {"tokenizer_xxh64", hash_hex(fingerprint_of(tokenizer_.bytes))}};
    if (!tokenizer_.bytes.empty()) write_file_atomically(folder_ / tokenizer_.name, tokenizer_.bytes);
    write_file_atomically(folder_ / totals_name, json_line(all) + '\n');
    rename_path(folder_, target_);
    sync_folder(folder_of(target_));
    log_.finish();
    std::printf("%s: %s documents, %s tokens in %s shard%s, %.1f MiB, %s, in %s\n", name_.c_str(),
                format_count(totals.documents).c_str(), format_count(totals.ids).c_str(),
                format_count(totals.shards).c_str(), totals.shards == 1 ? "" : "s",
                static_cast<double>(totals.bytes) / (1 << 20), log_.rate(totals.ids).c_str(), target_.c_str());
    if (totals.bad > 0)
      std::printf("%s: %s bad sample%s left out, listed in %s\n", name_.c_str(), format_count(totals.bad).c_str(),
                  totals.bad == 1 ? "" : "s", (target_ / (name_ + "-*.bad.jsonl")).c_str());
  }

  const Dataset& dataset_;
  const PackedTokenizer& tokenizer_;
  std::string part_;
  std::function<std::uint64_t(std::uint64_t)> order_;
  std::string name_;
  fs::path target_, folder_;
  std::string plan_;
  TokenWriter writer_;
  PackingLog log_;
  ReadBuffer outline_;
  std::uint64_t next_ = 0;  ///< place of the next record that no job has
  bool stopped_ = false;
};

/// Refuses windows of texts, each of which would become a document of its own.
void refuse_windows(const Settings& data) {
  if (data.text("dataset") != "text" || data.integer("window") == 0) return;
  throw data.error("window", "windows of a text are no documents: each repeats the last byte of the one before it",
                   ExitCode::usage,
                   "leave it out (--set data.window=0), and set data.window where data.dataset = \"tokens\"");
}

void check_token_folder(const fs::path& out) {
  for (const auto& name : names_in(out)) {
    const bool is_split = name == "train" || name == "val" || name == std::string("train") + unfinished ||
                          name == std::string("val") + unfinished;
    if (is_split) continue;
    if (is_leftover(name)) {
      remove_quietly(out / name);
      continue;
    }
    throw UserError(ExitCode::usage, concat("--out ", out.string(), ": the folder is not empty, it holds '", name, "'"),
                    "name a new folder");
  }
}

}  // namespace

int pack_tokens(const Config& config, const PackOptions& options, Interrupt& interrupt) {
  check_token_folder(options.out);
  const auto& sources = config.list("data.source");
  for (const auto& source : sources) refuse_windows(source);
  if (sources.empty()) refuse_windows(config.data(true));
  if (options.val) refuse_windows(config.data(false));
  const auto tokenizer = open_packed(*options.tokens);
  const auto splits = open_splits(config, options);
  interrupt.set_grace(std::chrono::duration<double>(*config.run().grace_seconds));
  interrupt.defer();
  make_folders(options.out);
  const auto workers = workers_of(config.loader().workers);
  const Scheduler scheduler(workers);
  for (const auto& split : splits)
    if (!TokenPacker(config, options, tokenizer, split).run(workers, interrupt))
      return Interrupt::exit_code(*interrupt.requested());
  return 0;
}

}  // namespace flowtrain
