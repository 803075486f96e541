#include "objectserver/model/answer_document.h"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>
#include <utility>
#include <vector>

namespace assay::objectserver {
namespace {

using nlohmann::json;

class XmlAnswerDocument : public AnswerDocument {
 public:
  bool Parse(std::string_view text) {
    return document_.load_buffer(text.data(), text.size()).status == pugi::status_ok;
  }

  size_t CountEntries() const override { return Entries().size(); }
  std::string Key(size_t entry) const override { return Entries().at(entry).child_value("Key"); }
  void SetKey(size_t entry, const std::string& key) override {
    Entries().at(entry).child("Key").text().set(key.c_str());
  }
  void RemoveEntry(size_t entry) override { document_.document_element().remove_child(Entries().at(entry)); }
  void RepeatEntry(size_t entry) override {
    const pugi::xml_node node = Entries().at(entry);
    document_.document_element().insert_copy_after(node, node);
  }
  void SwapWithNext(size_t entry) override {
    document_.document_element().insert_move_after(Entries().at(entry), Entries().at(entry + 1));
  }

  size_t CountFields(std::string_view name) const override { return Fields(name).size(); }
  std::string Field(std::string_view name, size_t nth) const override { return Fields(name).at(nth).child_value(); }
  void SetField(std::string_view name, size_t nth, const std::string& value) override {
    Fields(name).at(nth).text().set(value.c_str());
  }
  void RemoveField(std::string_view name, size_t nth) override {
    pugi::xml_node node = Fields(name).at(nth);
    node.parent().remove_child(node);
  }

  std::string Text() const override {
    std::ostringstream out;
    document_.save(out, "", pugi::format_raw);
    return out.str();
  }

 private:
  std::vector<pugi::xml_node> Entries() const {
    std::vector<pugi::xml_node> entries;
    for (const pugi::xml_node node : document_.document_element().children("Contents")) {
      entries.push_back(node);
    }
    return entries;
  }
  std::vector<pugi::xml_node> Fields(std::string_view name) const {
    std::vector<pugi::xml_node> found;
    for (pugi::xml_node node = document_.first_child(); node; node = Next(node)) {
      if (node.name() == name &&
          node.find_child([](pugi::xml_node child) { return child.type() == pugi::node_element; }).empty()) {
        found.push_back(node);
      }
    }
    return found;
  }
  /// In the order of the text.
  static pugi::xml_node Next(pugi::xml_node node) {
    if (node.first_child()) {
      return node.first_child();
    }
    while (node && !node.next_sibling()) {
      node = node.parent();
    }
    return node.next_sibling();
  }

  pugi::xml_document document_;
};

class JsonAnswerDocument : public AnswerDocument {
 public:
  explicit JsonAnswerDocument(json document) : document_(std::move(document)) {}

  size_t CountEntries() const override {
    const json* entries = Entries(document_);
    return entries == nullptr ? 0 : entries->size();
  }
  std::string Key(size_t entry) const override { return TextOf(Entries(document_)->at(entry).at("name")); }
  void SetKey(size_t entry, const std::string& key) override { Entries()->at(entry)["name"] = key; }
  void RemoveEntry(size_t entry) override { Entries()->erase(entry); }
  void RepeatEntry(size_t entry) override {
    const json copy = Entries()->at(entry);
    Entries()->insert(Entries()->begin() + static_cast<std::ptrdiff_t>(entry), copy);
  }
  void SwapWithNext(size_t entry) override { std::swap(Entries()->at(entry), Entries()->at(entry + 1)); }

  size_t CountFields(std::string_view name) const override {
    return Members(const_cast<json&>(document_), name).size();
  }
  std::string Field(std::string_view name, size_t nth) const override {
    return TextOf(Members(const_cast<json&>(document_), name).at(nth)->at(std::string(name)));
  }
  void SetField(std::string_view name, size_t nth, const std::string& value) override {
    json& field = Members(document_, name).at(nth)->at(std::string(name));
    const json number = field.is_string() ? json() : json::parse(value, nullptr, false);
    field = number.is_number() ? number : json(value);
  }
  void RemoveField(std::string_view name, size_t nth) override {
    Members(document_, name).at(nth)->erase(std::string(name));
  }

  std::string Text() const override { return document_.dump(-1, ' ', false, json::error_handler_t::replace); }

 private:
  static std::string TextOf(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

  static const json* Entries(const json& document) {
    for (const char* name : {"items", "objects"}) {
      const auto found = document.is_object() ? document.find(name) : document.end();
      if (found != document.end() && found->is_array()) {
        return &*found;
      }
    }
    return nullptr;
  }
  json* Entries() { return const_cast<json*>(Entries(std::as_const(document_))); }

  /// The objects that have a plain member of that name, in the order of the text.
  static std::vector<json*> Members(json& document, std::string_view name) {
    std::vector<json*> found;
    std::vector<json*> open = {&document};
    while (!open.empty()) {
      json* const value = open.back();
      open.pop_back();
      if (value->is_object() && value->contains(name) && value->at(std::string(name)).is_primitive()) {
        found.push_back(value);
      }
      if (value->is_structured()) {
        for (auto child = value->rbegin(); child != value->rend(); ++child) {
          open.push_back(&*child);
        }
      }
    }
    return found;
  }

  json document_;
};

}  // namespace

std::unique_ptr<AnswerDocument> ParseAnswer(std::string_view text) {
  if (text.starts_with('<')) {
    auto xml = std::make_unique<XmlAnswerDocument>();
    return xml->Parse(text) ? std::move(xml) : nullptr;
  }
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_structured() ? std::make_unique<JsonAnswerDocument>(std::move(parsed)) : nullptr;
}

}  // namespace assay::objectserver
