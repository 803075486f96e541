#include "samplestore/sql/dictionary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/files.h"

namespace assay::samplestore {
namespace {

/// More are let go of: properties may have a value of their own in each measurement.
constexpr size_t kMostAtHand = 200'000;

constexpr std::string_view kKinds[] = {"experiment", "parameterized", "outcome", "entity", "parameter",
                                       "provenance", "depends_on",    "targets", "units"};

std::string_view TextOf(TermKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

Result<TermKind> KindFrom(std::string_view text, const Connection& connection) {
  const auto* found = std::ranges::find(kKinds, text);
  if (found == std::end(kKinds)) {
    return Status::FailedPrecondition(fmt::format("store {} has a term of unknown kind '{}'", connection.name(), text));
  }
  return static_cast<TermKind>(found - std::begin(kKinds));
}

/// No name has a zero in it.
std::string KeyText(const Term& term) {
  std::string key(TextOf(term.kind));
  key += '\0';
  key += term.name;
  key += '\0';
  return key += term.value;
}

/// A value may be longer than an index takes.
std::string DigestOf(const std::string& key) {
  constexpr size_t kHexOf128Bits = 32;
  return Sha256Hex(key).substr(0, kHexOf128Bits);
}

}  // namespace

bool Dictionary::Knows(std::span<const Term> terms) const {
  return std::ranges::all_of(terms, [this](const Term& term) { return IdOf(term) != 0; });
}

int64_t Dictionary::IdOf(const Term& term) const {
  const auto found = ids_.find(KeyText(term));
  return found == ids_.end() ? 0 : found->second;
}

void Dictionary::Forget() {
  ids_.clear();
  terms_.clear();
}

void Dictionary::Keep(int64_t id, Term term) {
  ids_.emplace(KeyText(term), id);
  terms_.emplace(id, KnownTerm{.term = std::move(term), .content = {}});
}

Status Dictionary::Add(std::span<const Term> terms) {
  // Always in one order: of two that add the same terms one waits for the other, and never each for the other.
  std::map<std::string, const Term*> unknown;
  for (const Term& term : terms) {
    if (const std::string key = KeyText(term); !ids_.contains(key)) {
      unknown.emplace(DigestOf(key), &term);
    }
  }
  if (terms_.size() + unknown.size() > kMostAtHand) {
    Forget();
    for (const Term& term : terms) {
      unknown.emplace(DigestOf(KeyText(term)), &term);
    }
  }
  for (const auto& [digest, term] : unknown) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t id, Insert(*term, digest));
    Keep(id, *term);
  }
  return Status::Ok();
}

Result<int64_t> Dictionary::Insert(const Term& term, const std::string& digest) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr insert,
                         connection_.Prepare("INSERT INTO terms(digest, kind, name, value) VALUES (?, ?, ?, ?) ON "
                                             "CONFLICT (digest) DO NOTHING RETURNING id"));
  insert->Bind(digest).Bind(TextOf(term.kind)).Bind(term.name).Bind(term.value);
  ASSAY_ASSIGN_OR_RETURN(const bool added, insert->Step());
  if (!added) {
    return Select(digest);
  }
  const int64_t id = insert->Integer(0);
  ASSAY_RETURN_IF_ERROR(insert->Run());
  return id;
}

Result<int64_t> Dictionary::Select(const std::string& digest) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select, connection_.Prepare("SELECT id FROM terms WHERE digest = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select->Bind(digest).Step());
  return found ? select->Integer(0) : 0;
}

Result<int64_t> Dictionary::Find(const Term& term) {
  const std::string key = KeyText(term);
  if (const auto found = ids_.find(key); found != ids_.end()) {
    return found->second;
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t id, Select(DigestOf(key)));
  if (id != 0) {
    Keep(id, term);
  }
  return id;
}

Status Dictionary::Load(std::span<const int64_t> ids) {
  const auto is_missing = [this](int64_t id) { return !terms_.contains(id); };
  std::vector<int64_t> missing;
  std::ranges::copy_if(ids, std::back_inserter(missing), is_missing);
  std::ranges::sort(missing);
  missing.erase(std::ranges::unique(missing).begin(), missing.end());
  if (!terms_.empty() && terms_.size() + missing.size() > kMostAtHand) {
    Forget();
    return Load(ids);
  }
  for (size_t begin = 0; begin < missing.size();) {
    const size_t count = RowsAtOnce(missing.size() - begin);
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                           connection_.Prepare(fmt::format("SELECT id, kind, name, value FROM terms WHERE id IN {}",
                                                           RowsOfParameters(1, static_cast<int>(count)))));
    for (size_t i = 0; i < count; ++i) {
      select->Bind(missing[begin + i]);
    }
    for (bool more = true; more;) {
      ASSAY_ASSIGN_OR_RETURN(more, select->Step());
      if (more) {
        ASSAY_ASSIGN_OR_RETURN(const TermKind kind, KindFrom(select->Text(1), connection_));
        Keep(select->Integer(0), {kind, std::string(select->Text(2)), std::string(select->Text(3))});
      }
    }
    begin += count;
  }
  if (const auto lost = std::ranges::find_if(missing, is_missing); lost != missing.end()) {
    return Status::FailedPrecondition(
        fmt::format("store {} lacks term {}: it is damaged (restore it from a copy)", connection_.name(), *lost));
  }
  return Status::Ok();
}

std::string IdsText(std::span<const int64_t> ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

std::vector<int64_t> IdsFromText(std::string_view text) {
  std::vector<int64_t> ids;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    int64_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc()) {
      break;
    }
    ids.push_back(id);
    at = next;
  }
  return ids;
}

}  // namespace assay::samplestore
