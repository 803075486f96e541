#include "objectserver/model/lies.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "objectserver/model/answer_document.h"

namespace assay::objectserver {

/// What a lie works on.
struct Telling {
  const LieTarget& target;
  Draws draws;
  http::ServerResponse& answer;
  const Liar& liar;
};

struct Lie {
  /// The answers that can hold what it changes.
  enum class Scope { kAny, kContent, kWrites, kReads, kLists, kDocuments };

  std::string_view name;
  Scope scope;
  bool (*tell)(Telling&);
};

namespace {

// A stand-in for memory without end: more than a client may hold, sent from one block.
constexpr int64_t kEndlessBytes = int64_t{8} << 30;
constexpr size_t kBlockBytes = 1 << 20;

bool HasBody(const http::ServerResponse& answer) {
  return answer.body_bytes() > 0 && !answer.head_content_length;
}

std::string TextOf(const http::ServerResponse& answer) {
  std::string text;
  for (const http::BodyPiece& piece : answer.body) {
    const size_t at = text.size();
    text.resize(at + static_cast<size_t>(piece.size()));
    if (piece.file) {
      [[maybe_unused]] const ssize_t got =
          ::pread(piece.file->get(), text.data() + at, static_cast<size_t>(piece.size()), piece.offset);
    } else {
      std::memcpy(text.data() + at, piece.bytes.data(), piece.bytes.size());
    }
  }
  return text;
}

void SetText(std::string text, http::ServerResponse& answer) {
  answer.body.clear();
  answer.body.push_back(http::BodyPiece::Text(std::move(text)));
}

/// Another character of the same sort, so that what is changed can still be read.
char OtherCharacter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isdigit(byte) != 0) {
    return c == '9' ? '1' : static_cast<char>(c + 1);
  }
  return std::isalpha(byte) == 0     ? 'x'
         : std::tolower(byte) == 'z' ? static_cast<char>(c - 1)
                                     : static_cast<char>(c + 1);
}

std::string Changed(std::string text, Draws& draws) {
  std::vector<size_t> places;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalnum(static_cast<unsigned char>(text[i])) != 0) {
      places.push_back(i);
    }
  }
  if (!places.empty()) {
    const size_t at = places[draws.Below(places.size())];
    text[at] = OtherCharacter(text[at]);
  }
  return text;
}

// ---- what an answer claims: in headers, or in fields of its document

constexpr std::string_view kChecksumHeaders[] = {"x-amz-checksum-", "x-goog-hash", "content-md5", "opc-content-",
                                                 "opc-multipart-md5"};
constexpr std::string_view kChecksumFields[] = {
    "ChecksumCRC64NVME", "ChecksumCRC32C", "ChecksumCRC32", "ChecksumSHA256",
    "ChecksumSHA1",      "crc32c",         "md5Hash",       "md5"};
constexpr std::string_view kEtagHeaders[] = {"etag", "x-goog-generation"};
constexpr std::string_view kEtagFields[] = {"ETag", "etag"};
constexpr std::string_view kRangeHeaders[] = {"content-range"};
constexpr std::string_view kAnyHeader[] = {""};
constexpr std::string_view kAnyField[] = {"Key", "name", "Size", "size", "UploadId", "uploadId", "ETag", "Prefix"};

using Names = std::span<const std::string_view>;

std::vector<std::string> HeadersNamed(Names prefixes, const http::ServerResponse& answer) {
  std::vector<std::string> found;
  for (const http::Header& header : answer.headers.all()) {
    const std::string name = Lower(header.name);
    if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); })) {
      found.push_back(header.name);
    }
  }
  return found;
}

bool DropClaims(Telling& t, Names headers, Names fields) {
  const std::vector<std::string> names = HeadersNamed(headers, t.answer);
  for (const std::string& name : names) {
    t.answer.headers.Remove(name);
  }
  bool dropped = !names.empty();
  const auto document = fields.empty() || !HasBody(t.answer) ? nullptr : ParseAnswer(TextOf(t.answer));
  for (const std::string_view field : document ? fields : Names()) {
    for (; document->CountFields(field) > 0; dropped = true) {
      document->RemoveField(field, 0);
    }
  }
  if (document && dropped) {
    SetText(document->Text(), t.answer);
  }
  return dropped;
}

bool ChangeClaim(Telling& t, Names headers, Names fields) {
  if (const std::vector<std::string> names = HeadersNamed(headers, t.answer); !names.empty()) {
    const std::string& name = names[t.draws.Below(names.size())];
    t.answer.headers.Set(name, Changed(std::string(*t.answer.headers.Find(name)), t.draws));
    return true;
  }
  const auto document = fields.empty() || !HasBody(t.answer) ? nullptr : ParseAnswer(TextOf(t.answer));
  std::vector<std::pair<std::string_view, size_t>> found;
  for (const std::string_view field : document ? fields : Names()) {
    for (size_t i = 0; i < document->CountFields(field); ++i) {
      found.emplace_back(field, i);
    }
  }
  if (found.empty()) {
    return false;
  }
  const auto& [field, nth] = found[t.draws.Below(found.size())];
  document->SetField(field, nth, Changed(document->Field(field, nth), t.draws));
  SetText(document->Text(), t.answer);
  return true;
}

bool DropChecksum(Telling& t) {
  return DropClaims(t, kChecksumHeaders, kChecksumFields);
}
bool ChangeChecksum(Telling& t) {
  return ChangeClaim(t, kChecksumHeaders, kChecksumFields);
}
bool DropEtag(Telling& t) {
  return DropClaims(t, kEtagHeaders, kEtagFields);
}
bool ChangeEtag(Telling& t) {
  return ChangeClaim(t, kEtagHeaders, kEtagFields);
}
bool DropRange(Telling& t) {
  return DropClaims(t, kRangeHeaders, {});
}
bool ChangeRange(Telling& t) {
  return ChangeClaim(t, kRangeHeaders, {});
}
bool ChangeHeader(Telling& t) {
  return ChangeClaim(t, kAnyHeader, {});
}
bool ChangeField(Telling& t) {
  return ChangeClaim(t, {}, kAnyField);
}

// ---- the status

bool SwapStatus(Telling& t) {
  if (t.answer.status != 200 && t.answer.status != 206) {
    return false;
  }
  t.answer.status = t.answer.status == 200 ? 206 : 200;
  return true;
}

bool FalseSuccess(Telling& t) {
  if (t.answer.status < 400) {
    return false;
  }
  t.answer.status = 200;
  return true;
}

bool FalseStatus(Telling& t, int status) {
  if (t.answer.status >= 300) {
    return false;
  }
  t.answer.status = status;
  return true;
}
bool FalseAbsence(Telling& t) {
  return FalseStatus(t, 404);
}
bool FalseCondition(Telling& t) {
  return FalseStatus(t, 412);
}

// ---- the body as bytes

bool Garble(Telling& t) {
  if (!HasBody(t.answer)) {
    return false;
  }
  std::string text = TextOf(t.answer);
  text[t.draws.Below(text.size())] ^= static_cast<char>(1 << t.draws.Below(8));
  SetText(std::move(text), t.answer);
  return true;
}

bool Shorten(Telling& t) {
  if (!HasBody(t.answer)) {
    return false;
  }
  int64_t left = static_cast<int64_t>(t.draws.Below(static_cast<size_t>(t.answer.body_bytes())));
  for (http::BodyPiece& piece : t.answer.body) {
    const int64_t kept = std::min(left, piece.size());
    piece.Truncate(kept);
    left -= kept;
  }
  return true;
}

bool Lengthen(Telling& t) {
  if (!HasBody(t.answer)) {
    return false;
  }
  t.answer.body.push_back(http::BodyPiece::Text(std::string(1 + t.draws.Below(100'000), 'l')));
  return true;
}

/// More is sent than is announced: the rest looks like the answer to the next request.
bool Surplus(Telling& t) {
  if (!HasBody(t.answer)) {
    return false;
  }
  t.answer.unannounced_bytes = 1 + static_cast<int64_t>(t.draws.Below(static_cast<size_t>(t.answer.body_bytes())));
  return true;
}

bool Endless(Telling& t) {
  if (!HasBody(t.answer)) {
    return false;
  }
  const auto block = std::make_shared<const std::vector<std::byte>>(kBlockBytes, std::byte{' '});
  for (int64_t bytes = 0; bytes < kEndlessBytes; bytes += static_cast<int64_t>(kBlockBytes)) {
    t.answer.body.push_back(http::BodyPiece::Memory(block, *block));
  }
  return true;
}

bool FloodHeaders(Telling& t) {
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    t.answer.headers.Add("x-flood-" + std::to_string(i), std::string(1000, 'f'));
  }
  return true;
}

/// Deeper than a reader that calls itself may go.
bool NestDeep(Telling& t) {
  constexpr size_t kDepth = 100'000;
  const std::string text = HasBody(t.answer) ? TextOf(t.answer) : "";
  if (text.starts_with('{')) {
    const std::string entries = text.find("\"objects\"") != std::string::npos ? "objects" : "items";
    SetText("{\"" + entries + "\":" + std::string(kDepth, '[') + std::string(kDepth, ']') + '}', t.answer);
  } else if (text.starts_with('<')) {
    std::string nested = "<ListBucketResult>";
    for (const char* tag : {"<a>", "</a>"}) {
      for (size_t i = 0; i < kDepth; ++i) {
        nested += tag;
      }
    }
    SetText(nested + "</ListBucketResult>", t.answer);
  } else {
    return false;
  }
  return true;
}

bool EarlierAnswer(Telling& t) {
  std::optional<http::ServerResponse> earlier = t.liar.Earlier(t.target);
  if (!earlier || t.answer.head_content_length != earlier->head_content_length) {
    return false;
  }
  t.answer = *std::move(earlier);
  return true;
}

// ---- listings

/// Changes the entry that is drawn of at least `least`.
template <typename Change>
bool ChangeEntry(Telling& t, size_t least, const Change& change) {
  const auto document = HasBody(t.answer) && t.answer.status == 200 ? ParseAnswer(TextOf(t.answer)) : nullptr;
  const size_t entries = document ? document->CountEntries() : 0;
  if (entries < least) {
    return false;
  }
  change(*document, t.draws.Below(entries + 1 - least));
  SetText(document->Text(), t.answer);
  return true;
}

bool ListDropKey(Telling& t) {
  return ChangeEntry(t, 1, [](AnswerDocument& list, size_t entry) { list.RemoveEntry(entry); });
}
bool ListChangeKey(Telling& t) {
  return ChangeEntry(
      t, 1, [&t](AnswerDocument& list, size_t entry) { list.SetKey(entry, Changed(list.Key(entry), t.draws)); });
}
bool ListOutside(Telling& t) {
  return ChangeEntry(t, 1,
                     [](AnswerDocument& list, size_t entry) { list.SetKey(entry, "!outside/" + list.Key(entry)); });
}
bool ListShortKey(Telling& t) {
  return ChangeEntry(t, 1,
                     [](AnswerDocument& list, size_t entry) { list.SetKey(entry, list.Key(entry).substr(0, 1)); });
}
bool ListRepeatKey(Telling& t) {
  return ChangeEntry(t, 1, [](AnswerDocument& list, size_t entry) { list.RepeatEntry(entry); });
}
bool ListSwapKeys(Telling& t) {
  return ChangeEntry(t, 2, [](AnswerDocument& list, size_t entry) { list.SwapWithNext(entry); });
}

constexpr std::string_view kTokens[] = {"NextContinuationToken", "NextMarker", "nextPageToken", "nextStartWith"};

/// The page says that more follows and not where.
bool ListDropToken(Telling& t) {
  return HasBody(t.answer) && TextOf(t.answer).starts_with('<') && DropClaims(t, {}, kTokens);
}

bool ListEnd(Telling& t) {
  const auto document = HasBody(t.answer) ? ParseAnswer(TextOf(t.answer)) : nullptr;
  if (document == nullptr || !DropClaims(t, {}, kTokens)) {
    return false;
  }
  const auto ended = ParseAnswer(TextOf(t.answer));
  if (ended->CountFields("IsTruncated") > 0) {
    ended->SetField("IsTruncated", 0, "false");
  }
  SetText(ended->Text(), t.answer);
  return true;
}

/// Sets the answer's token, where it has one, to what `other` says of one of that name; false where that is nothing.
template <typename Other>
bool SetToken(Telling& t, const Other& other) {
  const auto document = HasBody(t.answer) ? ParseAnswer(TextOf(t.answer)) : nullptr;
  for (const std::string_view name : document ? Names(kTokens) : Names()) {
    const std::string token = document->CountFields(name) > 0 ? other(name) : "";
    if (!token.empty()) {
      document->SetField(name, 0, token);
      SetText(document->Text(), t.answer);
      return true;
    }
  }
  return false;
}

/// The next page is this one again.
bool ListRepeatToken(Telling& t) {
  return SetToken(t, [&t](std::string_view) { return std::string(t.target.page_token); });
}

/// The next page is that of another listing.
bool ListOtherToken(Telling& t) {
  const std::optional<http::ServerResponse> earlier = t.liar.Earlier(t.target);
  const auto before = earlier && HasBody(*earlier) ? ParseAnswer(TextOf(*earlier)) : nullptr;
  return before != nullptr && SetToken(t, [&before](std::string_view name) {
           return before->CountFields(name) > 0 ? before->Field(name, 0) : "";
         });
}

bool TellNothing(Telling&) {
  return true;
}

constexpr std::string_view kNotDone = "not-done";
constexpr std::string_view kDoneButFailed = "done-but-failed";

using Scope = Lie::Scope;

constexpr Lie kLies[] = {
    {"garble", Scope::kDocuments, &Garble},
    {"shorten", Scope::kAny, &Shorten},
    {"lengthen", Scope::kAny, &Lengthen},
    {"surplus", Scope::kAny, &Surplus},
    {"endless", Scope::kAny, &Endless},
    {"flood-headers", Scope::kAny, &FloodHeaders},
    {"deep", Scope::kDocuments, &NestDeep},
    {"drop-checksum", Scope::kAny, &DropChecksum},
    {"change-checksum", Scope::kAny, &ChangeChecksum},
    {"drop-etag", Scope::kAny, &DropEtag},
    {"change-etag", Scope::kAny, &ChangeEtag},
    {"drop-range", Scope::kContent, &DropRange},
    {"change-range", Scope::kContent, &ChangeRange},
    {"change-header", Scope::kAny, &ChangeHeader},
    {"change-field", Scope::kDocuments, &ChangeField},
    {"swap-status", Scope::kReads, &SwapStatus},
    {"false-success", Scope::kAny, &FalseSuccess},
    {"false-404", Scope::kAny, &FalseAbsence},
    {"false-412", Scope::kAny, &FalseCondition},
    {"earlier-answer", Scope::kAny, &EarlierAnswer},
    {"list-drop-key", Scope::kLists, &ListDropKey},
    {"list-change-key", Scope::kLists, &ListChangeKey},
    {"list-outside", Scope::kLists, &ListOutside},
    {"list-short-key", Scope::kLists, &ListShortKey},
    {"list-repeat-key", Scope::kLists, &ListRepeatKey},
    {"list-swap-keys", Scope::kLists, &ListSwapKeys},
    {"list-drop-token", Scope::kLists, &ListDropToken},
    {"list-repeat-token", Scope::kLists, &ListRepeatToken},
    {"list-other-token", Scope::kLists, &ListOtherToken},
    {"list-end", Scope::kLists, &ListEnd},
    {kNotDone, Scope::kWrites, &TellNothing},
    {kDoneButFailed, Scope::kWrites, &TellNothing},
};

}  // namespace

const Lie* FindLie(std::string_view name) {
  const auto found = std::ranges::find(kLies, name, &Lie::name);
  return found == std::end(kLies) ? nullptr : &*found;
}

std::vector<std::string> LieNames() {
  std::vector<std::string> names;
  for (const Lie& lie : kLies) {
    names.emplace_back(lie.name);
  }
  return names;
}

std::string_view NameOf(const Lie& lie) {
  return lie.name;
}

bool MakesSense(const Lie& lie, std::string_view operation, bool write) {
  switch (lie.scope) {
    case Lie::Scope::kAny:
      return true;
    case Lie::Scope::kContent:
      return operation == "GetObject";
    case Lie::Scope::kWrites:
      return write;
    case Lie::Scope::kReads:
      return !write;
    case Lie::Scope::kLists:
      return operation.starts_with("ListObjects");
    case Lie::Scope::kDocuments:
      return operation != "GetObject";
  }
  return false;
}

bool SkipsTheDeed(const Lie& lie) {
  return lie.name == kNotDone;
}

bool DeniesTheDeed(const Lie& lie) {
  return lie.name == kDoneButFailed;
}

bool Liar::Tell(const Lie& lie, const LieTarget& target, Draws draws, http::ServerResponse& answer) {
  Telling telling{target, draws, answer, *this};
  return lie.tell(telling);
}

void Liar::Remember(const LieTarget& target, const http::ServerResponse& answer) {
  if (answer.status >= 300 || answer.body_bytes() > kMostKeptBytes) {
    return;
  }
  const std::lock_guard lock(mutex_);
  kept_.push_front({std::string(target.operation), std::string(target.asked), answer});
  if (kept_.size() > kMostKept) {
    kept_.pop_back();
  }
}

std::optional<http::ServerResponse> Liar::Earlier(const LieTarget& target) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& kept) { return kept.operation == target.operation && kept.asked != target.asked; });
  return found == kept_.end() ? std::nullopt : std::optional(found->answer);
}

}  // namespace assay::objectserver
