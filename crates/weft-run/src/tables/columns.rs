//! A builder of a table, column by column.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};

use super::ProvidedTables;
use crate::Error;

/// The columns so far, all of `rows` rows, without those that the level does not provide.
pub(super) struct Columns {
    table: &'static str,
    provided: ProvidedTables,
    rows: usize,
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    pub fn new(table: &'static str, provided: ProvidedTables, rows: usize) -> Self {
        Self {
            table,
            provided,
            rows,
            fields: Vec::new(),
            arrays: Vec::new(),
        }
    }

    fn add(mut self, name: &str, nullable: bool, array: impl FnOnce() -> ArrayRef) -> Self {
        if !self.provided.has_column(self.table, name) {
            return self;
        }
        let array = array();
        self.fields
            .push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(array);
        self
    }

    pub fn text<'a>(self, name: &str, values: impl Iterator<Item = &'a str>) -> Self {
        self.add(name, false, || Arc::new(StringArray::from_iter_values(values)))
    }

    pub fn text_or_null<'a>(self, name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        self.add(name, true, || Arc::new(values.collect::<StringArray>()))
    }

    pub fn index(self, name: &str, values: impl Iterator<Item = u32>) -> Self {
        self.add(name, false, || Arc::new(UInt32Array::from_iter_values(values)))
    }

    pub fn index_or_null(self, name: &str, values: impl Iterator<Item = Option<u32>>) -> Self {
        self.add(name, true, || Arc::new(values.collect::<UInt32Array>()))
    }

    pub fn count(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        self.add(name, false, || Arc::new(UInt64Array::from_iter_values(values)))
    }

    pub fn count_or_null(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        self.add(name, true, || Arc::new(values.collect::<UInt64Array>()))
    }

    pub fn number(self, name: &str, values: impl Iterator<Item = f64>) -> Self {
        self.add(name, false, || Arc::new(Float64Array::from_iter_values(values)))
    }

    pub fn number_or_null(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.add(name, true, || Arc::new(values.collect::<Float64Array>()))
    }

    pub fn flag(self, name: &str, values: impl Iterator<Item = bool>) -> Self {
        self.add(name, false, || {
            Arc::new(values.map(Some).collect::<BooleanArray>())
        })
    }

    pub fn flag_or_null(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        self.add(name, true, || Arc::new(values.collect::<BooleanArray>()))
    }

    pub fn numbers(self, name: &str, values: impl Iterator<Item = Vec<f64>>) -> Self {
        let item = Field::new("item", DataType::Float64, false);
        let mut lists = ListBuilder::new(Float64Builder::new()).with_field(item);
        for list in values {
            lists.values().append_slice(&list);
            lists.append(true);
        }
        self.add(name, false, || Arc::new(lists.finish()))
    }

    pub fn texts<'a>(self, name: &str, values: impl Iterator<Item = Vec<&'a str>>) -> Self {
        let item = Field::new("item", DataType::Utf8, false);
        let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item);
        for list in values {
            for text in list {
                lists.values().append_value(text);
            }
            lists.append(true);
        }
        self.add(name, false, || Arc::new(lists.finish()))
    }

    pub fn finish(self) -> Result<RecordBatch, Error> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), self.arrays, &options)
            .map_err(|error| Error::Internal(format!("a table cannot be built: {error}")))
    }
}
