// An answer in XML or JSON, whatever the dialect, taken apart as far as lies need it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace assay::objectserver {

/// Entries are the objects of a listing, counted from 0. Fields are elements or members that hold a text or a number,
/// wherever they stand; those of one name are counted from 0.
class AnswerDocument {
 public:
  virtual ~AnswerDocument() = default;

  virtual size_t CountEntries() const = 0;
  virtual std::string Key(size_t entry) const = 0;
  virtual void SetKey(size_t entry, const std::string& key) = 0;
  virtual void RemoveEntry(size_t entry) = 0;
  /// The same entry once more, right behind itself.
  virtual void RepeatEntry(size_t entry) = 0;
  /// Puts an entry behind the next one.
  virtual void SwapWithNext(size_t entry) = 0;

  virtual size_t CountFields(std::string_view name) const = 0;
  virtual std::string Field(std::string_view name, size_t nth) const = 0;
  virtual void SetField(std::string_view name, size_t nth, const std::string& value) = 0;
  virtual void RemoveField(std::string_view name, size_t nth) = 0;

  virtual std::string Text() const = 0;
};

/// Null for text that is neither.
std::unique_ptr<AnswerDocument> ParseAnswer(std::string_view text);

}  // namespace assay::objectserver
