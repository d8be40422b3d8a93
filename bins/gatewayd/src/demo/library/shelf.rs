use super::book::{
    Book, Details,
    Subject::{self, Adventure, Horror, Mystery, Satire, Science, Sea, Society, War},
};

/// The most books that there is room for.
const ROOM: usize = 100;

/// The books, by their numbers, which are never given twice.
#[derive(Debug)]
pub(super) struct Shelf {
    books: Vec<Book>,
    next: u32,
}

impl Default for Shelf {
    fn default() -> Self {
        let mut shelf = Self { books: Vec::new(), next: 1 };
        for (title, author, year, subjects) in FIRST {
            let subjects = subjects.to_vec();
            shelf.add(Details { title: title.into(), author: author.into(), year, subjects });
        }
        shelf
    }
}

impl Shelf {
    pub(super) fn get(&self, id: u32) -> Option<&Book> {
        self.books.iter().find(|book| book.id == id)
    }

    /// Those that `fits`, in the order of their titles.
    pub(super) fn by_title(&self, fits: impl Fn(&Details) -> bool) -> Vec<&Book> {
        let mut found: Vec<_> = self.books.iter().filter(|book| fits(&book.details)).collect();
        found.sort_by(|a, b| a.details.title.cmp(&b.details.title));
        found
    }

    /// `None` if there is no room.
    pub(super) fn add(&mut self, details: Details) -> Option<&Book> {
        if self.books.len() >= ROOM {
            return None;
        }
        self.books.push(Book { id: self.next, details });
        self.next += 1;
        self.books.last()
    }

    pub(super) fn replace(&mut self, id: u32, details: Details) -> Option<&Book> {
        let book = self.books.iter_mut().find(|book| book.id == id)?;
        book.details = details;
        Some(book)
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, id: u32) -> bool {
        let before = self.books.len();
        self.books.retain(|book| book.id != id);
        self.books.len() < before
    }
}

const FIRST: [(&str, &str, i32, &[Subject]); 12] = [
    ("Frankenstein; or, The Modern Prometheus", "Mary Shelley", 1818, &[Horror, Science]),
    ("Pride and Prejudice", "Jane Austen", 1813, &[Society]),
    ("Moby-Dick; or, The Whale", "Herman Melville", 1851, &[Adventure, Sea]),
    ("Twenty Thousand Leagues Under the Seas", "Jules Verne", 1870, &[Adventure, Science, Sea]),
    ("The War of the Worlds", "H. G. Wells", 1898, &[Science, War]),
    ("The Invisible Man", "H. G. Wells", 1897, &[Horror, Science]),
    ("Dracula", "Bram Stoker", 1897, &[Horror]),
    ("The Hound of the Baskervilles", "Arthur Conan Doyle", 1902, &[Mystery]),
    ("A Tale of Two Cities", "Charles Dickens", 1859, &[Society, War]),
    ("Gulliver's Travels", "Jonathan Swift", 1726, &[Adventure, Satire, Sea]),
    ("War and Peace", "Leo Tolstoy", 1869, &[Society, War]),
    ("The Moonstone", "Wilkie Collins", 1868, &[Mystery, Society]),
];
