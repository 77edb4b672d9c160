#pragma once
// The keys of tables that many parts of the program read. The help of a key is in its line in pipeline/base/config.

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

/// The value of a key, and where that was written. The table must outlive it. `Type` is Value for a key that takes
/// values of several types.
template <class Type>
class Setting {
 public:
  /// An unknown key, or one of another type, is a bug.
  Setting(const Settings& table, const char* key) : table_(&table), key_(key) {
    if constexpr (std::is_same_v<Type, Value>)
      value_ = &table.value(key);
    else if (value_ = std::get_if<Type>(&table.value(key)); !value_)
      throw InternalError(table.table() + "." + key + " was asked for as another type than it has");
  }

  const Type& operator*() const { return *value_; }
  const Type* operator->() const { return value_; }

  /// Returns whether the value was written by the user, not taken from the default.
  bool given() const { return table_->given(key_); }
  const Origin& origin() const { return table_->origin(key_); }
  /// Returns an error that names the key and where its value was written.
  UserError error(const std::string& message, ExitCode code = ExitCode::usage, const std::string& hint = {}) const {
    return table_->error(key_, message, code, hint);
  }
  const Value& fallback() const { return find_key(table_->keys(), key_)->fallback; }
  const Settings& table() const { return *table_; }
  const char* key() const { return key_; }

 private:
  const Settings* table_;
  const char* key_;
  const Type* value_ = nullptr;
};

/// A view of a table, which must outlive it. Members of type Value are numbers or words ("auto"), or periods.
class TableKeys {
 public:
  TableKeys(const Settings& table) : table_(table) {}

 protected:
  using Number = Setting<std::int64_t>;
  using Real = Setting<double>;
  using Flag = Setting<bool>;
  using Numbers = Setting<std::vector<std::int64_t>>;
  using Text = Setting<std::string>;
  using Texts = Setting<std::vector<std::string>>;
  using Mixed = Setting<Value>;
  const Settings& table_;
};

/// [run]: the length, device and folder of a run.
struct RunKeys : TableKeys {
  using TableKeys::TableKeys;
  Number max_iter{table_, "max_iter"}, max_epochs{table_, "max_epochs"};  ///< one is 0
  Mixed seed{table_, "seed"}, threads{table_, "threads"};
  Text device{table_, "device"}, cudnn{table_, "cudnn"}, dir{table_, "dir"}, resume{table_, "resume"};
  Flag deterministic{table_, "deterministic"};
  Real grace_seconds{table_, "grace_seconds"};
  Texts plugins{table_, "plugins"};
};

/// [loader]: how batches are loaded.
struct LoaderKeys : TableKeys {
  using TableKeys::TableKeys;
  Mixed batch{table_, "batch"}, workers{table_, "workers"};
  Number batch_max{table_, "batch_max"}, batch_memory_mb{table_, "batch_memory_mb"};
  Number batch_per_rank{table_, "batch_per_rank"};  ///< if not 0, it counts in place of batch
  Number prefetch{table_, "prefetch"}, readers{table_, "readers"}, read_ahead{table_, "read_ahead"};
  Number cache_mb{table_, "cache_mb"};
  Number budget{table_, "budget"};  ///< 0: a batch has a fixed number of rows
  Text last_batch{table_, "last_batch"}, length_of{table_, "length_of"};
  Text resizing{table_, "resizing"};       ///< "multi_scale" or "progressive"
  Numbers resize_at{table_, "resize_at"};  ///< iterations after which each further size begins; empty: equal stages
  Flag pack{table_, "pack"}, pin{table_, "pin"};
};

/// [train]: the training iteration.
struct TrainKeys : TableKeys {
  using TableKeys::TableKeys;
  Number accum{table_, "accum"}, max_nonfinite{table_, "max_nonfinite"}, max_skipped{table_, "max_skipped"};
  Real clip{table_, "clip"}, clip_p{table_, "clip_p"}, rollback_lr{table_, "rollback_lr"};
  Text clip_by{table_, "clip_by"}, amp{table_, "amp"}, nonfinite{table_, "nonfinite"}, on_error{table_, "on_error"};
  Flag cuda_graph{table_, "cuda_graph"};
};

/// [val]: validations during the training.
struct ValKeys : TableKeys {
  using TableKeys::TableKeys;
  Mixed every{table_, "every"}, workers{table_, "workers"};
  Number batches{table_, "batches"}, batch{table_, "batch"}, pictures{table_, "pictures"};
  Text source{table_, "source"};  ///< groups: the source whose fields validation has; empty: the first one
  Text amp{table_, "amp"}, mode{table_, "mode"}, on_error{table_, "on_error"}, group_by{table_, "group_by"};
  Flag flip{table_, "flip"};
  Texts metrics{table_, "metrics"}, samples{table_, "samples"};
  Number sample_tokens{table_, "sample_tokens"};
  Real sample_temperature{table_, "sample_temperature"};
};

/// [snapshot]: the snapshots that a run makes and keeps.
struct SnapshotKeys : TableKeys {
  using TableKeys::TableKeys;
  Mixed every{table_, "every"}, keep_every{table_, "keep_every"};
  Number keep_last{table_, "keep_last"}, keep_best{table_, "keep_best"};
  Flag end_with_best{table_, "end_with_best"}, final{table_, "final"};
  Text when_busy{table_, "when_busy"}, on_error{table_, "on_error"};
  Texts save{table_, "save"};
};

}  // namespace flowtrain
