#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml_scalar.h"

namespace assay {

struct YamlNode::Impl {
  YAML::Node node;
  std::shared_ptr<const std::string> source;

  YamlNode Wrap(const YAML::Node& child) const { return YamlNode(std::make_shared<const Impl>(Impl{child, source})); }
};

namespace {

// yaml-cpp gives plain scalars the tag "?", quoted and block ones "!".
bool IsText(const YAML::Node& node) {
  return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str";
}

bool IsNullNode(const YAML::Node& node) {
  return node.IsNull() || (node.IsScalar() && !IsText(node) && IsYamlNull(node.Scalar()));
}

std::string Describe(const YAML::Node& node) {
  if (node.IsMap()) {
    return "a map";
  }
  if (node.IsSequence()) {
    return "a list";
  }
  return IsNullNode(node) ? "nothing" : fmt::format("'{}'", node.Scalar());
}

int LineOf(const YAML::Node& node) {
  return std::max(node.Mark().line, 0) + 1;
}

// Refuses what would make a later walk wrong or endless: two equal keys, keys that are no scalars, an anchor that holds
// itself, or aliases that multiply.
class DocumentCheck {
 public:
  explicit DocumentCheck(const std::string& source) : source_(source) {}

  Status Visit(const YAML::Node& node, int depth = 0) {
    if (depth > kMaxDepth || ++visited_ > kMaxNodes) {
      return Error(node, "nested too deep, or an alias that contains itself");
    }
    if (node.IsMap()) {
      return VisitMap(node, depth);
    }
    if (node.IsSequence()) {
      for (const auto& item : node) {
        ASSAY_RETURN_IF_ERROR(Visit(item, depth + 1));
      }
    }
    return Status::Ok();
  }

 private:
  static constexpr int kMaxDepth = 100;
  static constexpr int kMaxNodes = 1'000'000;

  Status VisitMap(const YAML::Node& node, int depth) {
    std::set<std::string> keys;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() && !entry.first.IsNull()) {
        return Error(entry.first, "a key must be a plain value");
      }
      if (!keys.insert(entry.first.Scalar()).second) {
        return Error(entry.first, fmt::format("key '{}' stands here twice", entry.first.Scalar()));
      }
      ASSAY_RETURN_IF_ERROR(Visit(entry.second, depth + 1));
    }
    return Status::Ok();
  }

  Status Error(const YAML::Node& node, std::string_view message) const {
    return Status::InvalidArgument(fmt::format("{}:{}: {}", source_, LineOf(node), message));
  }

  const std::string& source_;
  int visited_ = 0;
};

nlohmann::json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (IsText(node)) {
    return text;
  }
  if (IsYamlNull(text)) {
    return nullptr;
  }
  if (const auto value = YamlBool(text)) {
    return *value;
  }
  if (const auto value = YamlInteger(text)) {
    return *value;
  }
  if (const auto value = YamlNumber(text)) {
    return *value;
  }
  return text;
}

nlohmann::json NodeToJson(const YAML::Node& node) {
  if (node.IsMap()) {
    auto object = nlohmann::json::object();
    for (const auto& entry : node) {
      object[entry.first.Scalar()] = NodeToJson(entry.second);
    }
    return object;
  }
  if (node.IsSequence()) {
    auto list = nlohmann::json::array();
    for (const auto& item : node) {
      list.push_back(NodeToJson(item));
    }
    return list;
  }
  return node.IsScalar() ? ScalarToJson(node) : nlohmann::json(nullptr);
}

// Whether the line is `mark`, whatever stands behind it.
bool IsMarked(std::string_view line, std::string_view mark) {
  return line.starts_with(mark) &&
         (line.size() == mark.size() || std::isspace(static_cast<unsigned char>(line[mark.size()])) != 0);
}

// A line that begins with "---" begins a document and one with "..." ends it, whatever stands around them (YAML 1.2.2,
// 9.1.4); the first may do so explicitly, and behind an end every line with content is another one's. 0: there is one.
// yaml-cpp's own reading of several does not end for some that are not well formed.
int LineOfSecondDocument(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  bool begun = false;
  bool ended = false;
  int line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (IsMarked(content, "...")) {
      ended = true;
      continue;
    }
    const std::string_view trimmed = Trim(content);
    const bool says_nothing = trimmed.empty() || trimmed.front() == '#' || content.front() == '%';
    if (!says_nothing && (ended || (begun && IsMarked(content, "---")))) {
      return line;
    }
    begun = begun || !says_nothing;
  }
  return 0;
}

}  // namespace

Result<YamlNode> YamlNode::ReadFile(const std::string& path) {
  const auto text = assay::ReadFile(path);
  if (!text.ok()) {
    return text.status();
  }
  return Parse(*text, path);
}

Result<YamlNode> YamlNode::Parse(std::string_view text, std::string source) {
  try {
    if (const int line = LineOfSecondDocument(text); line > 0) {
      return Status::InvalidArgument(
          fmt::format("{}:{}: a second document begins here: put each in a file of its own", source, line));
    }
    YAML::Node root = YAML::Load(std::string(text));
    ASSAY_RETURN_IF_ERROR(DocumentCheck(source).Visit(root));
    auto shared_source = std::make_shared<const std::string>(std::move(source));
    return YamlNode(std::make_shared<const Impl>(Impl{std::move(root), std::move(shared_source)}));
  } catch (const YAML::Exception& error) {
    const int line = std::max(error.mark.line, 0) + 1;
    return Status::InvalidArgument(fmt::format("{}:{}: not valid YAML: {}", source, line, error.msg));
  }
}

bool YamlNode::IsMap() const {
  return impl_->node.IsMap();
}
bool YamlNode::IsSequence() const {
  return impl_->node.IsSequence();
}
bool YamlNode::IsScalar() const {
  return impl_->node.IsScalar() && !IsNull();
}
bool YamlNode::IsNull() const {
  return IsNullNode(impl_->node);
}
int YamlNode::line() const {
  return LineOf(impl_->node);
}

std::string YamlNode::where() const {
  return fmt::format("{}:{}", *impl_->source, line());
}

Status YamlNode::Error(std::string_view message) const {
  return Status::InvalidArgument(fmt::format("{}: {}", where(), message));
}

Status YamlNode::CheckKeys(const std::vector<std::string>& known) const {
  if (!IsMap()) {
    return Error(fmt::format("expected a map, not {}", Describe(impl_->node)));
  }
  for (const auto& entry : impl_->node) {
    const std::string& key = entry.first.Scalar();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string nearest = NearestName(key, known);
      const std::string hint = nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
      return impl_->Wrap(entry.first).Error(fmt::format("unknown key '{}'{}", key, hint));
    }
  }
  return Status::Ok();
}

bool YamlNode::Has(std::string_view key) const {
  return Get(key).ok();
}

Result<YamlNode> YamlNode::Get(std::string_view key) const {
  if (!IsMap()) {
    return Error(fmt::format("expected a map with the key '{}', not {}", key, Describe(impl_->node)));
  }
  for (const auto& entry : impl_->node) {
    if (entry.first.Scalar() == key) {
      return impl_->Wrap(entry.second);
    }
  }
  return Error(fmt::format("key '{}' is missing", key));
}

std::vector<std::pair<std::string, YamlNode>> YamlNode::entries() const {
  std::vector<std::pair<std::string, YamlNode>> entries;
  if (IsMap()) {
    for (const auto& entry : impl_->node) {
      entries.emplace_back(entry.first.Scalar(), impl_->Wrap(entry.second));
    }
  }
  return entries;
}

std::vector<YamlNode> YamlNode::items() const {
  std::vector<YamlNode> items;
  if (IsSequence()) {
    for (const auto& item : impl_->node) {
      items.push_back(impl_->Wrap(item));
    }
  }
  return items;
}

Result<std::string> YamlNode::AsText() const {
  if (!IsScalar()) {
    return Error(fmt::format("expected a text, not {}", Describe(impl_->node)));
  }
  return impl_->node.Scalar();
}

namespace {

template <typename T>
Result<T> ScalarAs(const YamlNode& node, const YAML::Node& yaml, std::optional<T> (*convert)(const std::string&),
                   const char* expected) {
  if (node.IsScalar() && !IsText(yaml)) {
    if (const std::optional<T> value = convert(yaml.Scalar())) {
      return *value;
    }
  }
  return node.Error(fmt::format("expected {}, not {}", expected, Describe(yaml)));
}

}  // namespace

Result<int64_t> YamlNode::AsInteger() const {
  return ScalarAs(*this, impl_->node, YamlInteger, "an integer");
}
Result<double> YamlNode::AsNumber() const {
  return ScalarAs(*this, impl_->node, YamlNumber, "a number");
}

nlohmann::json YamlNode::ToJson() const {
  return NodeToJson(impl_->node);
}

}  // namespace assay
