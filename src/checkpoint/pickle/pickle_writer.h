// Writes pickles of protocol 2, which every torch.load and its weights_only machine read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "checkpoint/tensor/box.h"

namespace assay::checkpoint {

/// Appends opcodes. Names and short texts that come again are taken from the memo.
class PickleWriter {
 public:
  PickleWriter() : bytes_("\x80\x02") {}

  void None() { bytes_ += 'N'; }
  void Bool(bool truth) { bytes_ += truth ? '\x88' : '\x89'; }
  void Int(int64_t number);
  /// Two's complement, little endian.
  void BigInt(std::string_view bytes);
  void Float(double number);
  /// UTF-8 of less than 4 GiB.
  void Text(std::string_view text);
  /// Any bytes, as text that is encoded when it is read: protocol 2 has none of its own.
  void Bytes(std::string_view bytes);
  /// The object of that name in that module, as Python 3 names it.
  void Global(std::string_view module, std::string_view name);

  void Mark() { bytes_ += '('; }
  void EmptyList() { bytes_ += ']'; }
  void EmptyDict() { bytes_ += '}'; }
  void EmptyTuple() { bytes_ += ')'; }
  /// What stands since the mark goes into the list, or as key and value in turns into the dict, below it.
  void Appends() { bytes_ += 'e'; }
  void SetItems() { bytes_ += 'u'; }
  /// A tuple of so many: call Begin before them and End behind them.
  void BeginTuple(size_t count);
  void EndTuple(size_t count);
  void Tuple(const Sizes& numbers);

  /// Calls what lies below the tuple of arguments.
  void Reduce() { bytes_ += 'R'; }
  void NewObject() { bytes_ += '\x81'; }
  /// Gives the object below the state.
  void Build() { bytes_ += 'b'; }
  /// Replaces the tuple by what it is the persistent id of.
  void PersistentId() { bytes_ += 'Q'; }

  /// Remembers the topmost object; Recall() of the number brings it again.
  uint32_t Remember();
  void Recall(uint32_t number);

  /// The pickle, ended.
  std::string Finish() { return std::move(bytes_ += '.'); }

 private:
  std::string bytes_;
  uint32_t remembered_ = 0;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<std::string, uint32_t> globals_;  ///< as "module\nname"
};

}  // namespace assay::checkpoint
