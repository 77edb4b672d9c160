#include "pipeline/engine/train/hash_journal.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

void append_hex(std::string& text, std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  text.append(digits, 16);
}

// Packs for rank 0: for each micro-batch the number of rows, their positions, their ids, and their hashes.
std::string packed(const std::vector<HashedRows>& batches) {
  std::string bytes;
  const auto append = [&bytes](std::span<const std::uint64_t> values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  };
  for (auto& [ids, hashes, positions] : batches) {
    const std::uint64_t rows = ids.size();
    append({&rows, 1});
    append(positions);
    append(ids);
    append(hashes);
  }
  return bytes;
}

// Reads one process's bytes, micro-batch by micro-batch.
class Unpacking {
 public:
  Unpacking(const std::string& bytes, std::size_t fields) : bytes_(bytes), fields_(fields) {}

  void next(HashedRows& to) {
    std::uint64_t rows = 0;
    std::memcpy(&rows, take(1), sizeof rows);
    append(to.positions, rows);
    append(to.ids, rows);
    append(to.hashes, rows * fields_);
  }

 private:
  const char* take(std::size_t count) {
    const char* from = bytes_.data() + at_;
    at_ += count * sizeof(std::uint64_t);
    if (at_ > bytes_.size()) throw InternalError("hashes of rows that are fewer than another rank said");
    return from;
  }
  void append(std::vector<std::uint64_t>& to, std::size_t count) {
    const char* from = take(count);
    to.resize(to.size() + count);
    if (count > 0) std::memcpy(to.data() + to.size() - count, from, count * sizeof(std::uint64_t));
  }

  const std::string& bytes_;
  const std::size_t fields_;
  std::size_t at_ = 0;
};

// Puts rows in the order of their positions: with groups, each process has some rows of each group.
void sort_rows(HashedRows& rows, std::size_t fields) {
  if (std::ranges::is_sorted(rows.positions)) return;
  std::vector<std::size_t> order(rows.ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return rows.positions[row]; });
  HashedRows sorted;
  for (const std::size_t row : order) {
    sorted.ids.push_back(rows.ids[row]);
    sorted.positions.push_back(rows.positions[row]);
    const auto first = rows.hashes.begin() + static_cast<std::ptrdiff_t>(row * fields);
    sorted.hashes.insert(sorted.hashes.end(), first, first + static_cast<std::ptrdiff_t>(fields));
  }
  rows = std::move(sorted);
}

JsonObject rows_by_field(const std::vector<std::string>& fields, const HashedRows& rows) {
  JsonObject all;
  all.reserve(fields.size());
  for (std::size_t field = 0; field < fields.size(); ++field) {
    std::string text;
    text.reserve(16 * rows.ids.size());
    for (std::size_t at = field; at < rows.hashes.size(); at += fields.size()) append_hex(text, rows.hashes[at]);
    all.emplace_back(fields[field], std::move(text));
  }
  return all;
}

JsonObject hashes_of(const std::vector<StateTensor>& tensors) {
  JsonObject all;
  all.reserve(tensors.size());  // Names differ, so none is looked up.
  for (auto& tensor : tensors)
    all.emplace_back(tensor.name, concat(tensor.dtype, " ", shape_text(tensor.shape), " ", xxh64_hex(tensor.bytes)));
  return all;
}

}  // namespace

HashJournal::HashJournal(const std::filesystem::path& run, Group& group) : group_(group) {
  if (!group.leads()) return;
  try {
    file_.emplace(run / hash_journal_name);
  } catch (const UserError& error) {
    log_warn(concat(error.what(), "; training goes on without it"));
    return;
  }
  for (auto& line : lines_) free_.push(&line);
  tasks_.emplace(TaskThread::Rules{.name = "ft-hashes", .depth = lines_.size()});
}

void HashJournal::add(const Slab& batch, std::span<const std::uint64_t> hashes) {
  if (batch.ticket().micro == 0) own_.clear();
  fields_.clear();
  for (auto& field : batch.layout().fields()) fields_.push_back(field.name);
  HashedRows& rows = own_.emplace_back();
  if (batch.share() == 0) return;  // The rows are padding.
  for (auto& row : batch.rows()) {
    rows.ids.push_back(row.id);
    rows.positions.push_back(row.position);
  }
  rows.hashes.assign(hashes.begin(), hashes.end());
}

// Joins the processes' pieces of each micro-batch in the order of the whole batch.
HashedRows HashJournal::rows_of_all() {
  const auto all = group_.gather("the hashes of a batch", packed(own_));
  std::vector<Unpacking> ranks;
  ranks.reserve(all.size());
  for (auto& bytes : all) ranks.emplace_back(bytes, fields_.size());
  HashedRows rows;
  for (std::size_t micro = 0; micro < own_.size(); ++micro)
    for (auto& rank : ranks) rank.next(rows);
  sort_rows(rows, fields_.size());
  return rows;
}

void HashJournal::put(std::uint64_t iteration, const std::optional<StepStats>& stats, Learner& learner) {
  HashedRows rows = rows_of_all();
  if (!file_) return;
  Line* line = nullptr;
  free_.pop(line);
  line->iteration = iteration;
  line->stats = stats;
  line->fields = fields_;
  line->rows = std::move(rows);
  learner.copy_state(line->state);
  tasks_->add([this, line] { make_line(*line); });
}

std::function<void()> HashJournal::wait_for_written() const {
  return tasks_ ? tasks_->wait_for_added() : [] {};
}

void HashJournal::make_line(Line& line) {
  try {
    line.state.settle();
    write(line);
  } catch (const std::exception& error) {  // no memory, for example
    log_warn(concat(file_->path().string(), ": the line of iteration ", line.iteration, " is missing: ", error.what(),
                    "; training goes on"));
  }
  free_.push(&line);
}

void HashJournal::write(Line& line) {
  JsonObject fields{{"iter", line.iteration}, {"ranks", group_.size()}};
  fields["loss"] = line.stats ? ordered_json(line.stats->loss) : ordered_json();
  fields["grad_norm"] = line.stats ? ordered_json(line.stats->grad_norm) : ordered_json();
  fields["ids"] = line.rows.ids;
  fields["rows"] = rows_by_field(line.fields, line.rows);
  fields["model"] = hashes_of(line.state.model);
  fields["optimizer"] = hashes_of(line.state.optim);
  file_->write(std::move(fields));
}

}  // namespace flowtrain
