lookClosely(document);
